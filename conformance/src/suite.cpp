#include <halyard/conformance/suite.h>

#include <fmt/format.h>
#include <xxhash.h>
#include <cmath>

#include "real.h"
#include "suites.h"

namespace halyard::conformance {

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed:
      return "passed";
    case Verdict::failed:
      return "failed";
    case Verdict::unsupported:
      return "unsupported";
    case Verdict::expected_failure:
      return "expected_failure";
    case Verdict::stale_exception:
      return "stale_exception";
  }
  return "failed";
}

std::optional<Verdict> parse_verdict(std::string_view text) {
  for (Verdict verdict : {Verdict::passed, Verdict::failed, Verdict::unsupported, Verdict::expected_failure,
                          Verdict::stale_exception})
    if (name(verdict) == text) return verdict;
  return std::nullopt;
}

const std::vector<Suite>& suites() {
  static const std::vector<Suite> all{hal_suite(),    ops_suite(),  fusion_suite(),
                                      models_suite(), onnx_suite(), equality_suite()};
  return all;
}

Allowance allowance_of(const hal::DeviceInfo& info) {
  return {info.numeric.fused_fma == hal::Fact::yes, info.numeric.keeps_subnormals != hal::Fact::yes};
}

ops::NumericClass class_of(const hal::DeviceInfo& info) {
  return {info.numeric.fused_fma == hal::Fact::yes};
}

namespace {

bool is_nan(const ops::HostTensor& tensor, std::int64_t i) {
  return is_float(tensor.element()) && std::isnan(tensor.at(i));
}

}  // namespace

std::string hash_of(std::span<const ops::HostTensor> tensors) {
  std::string bytes;
  for (const ops::HostTensor& tensor : tensors) {
    bytes += ops::TensorType{tensor.element(), tensor.shape()}.text();
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      const std::uint64_t bits = is_nan(tensor, i) ? ~0ull : tensor.bits_at(i);
      bytes.append(reinterpret_cast<const char*>(&bits), sizeof bits);
    }
  }
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string first_difference(const ops::HostTensor& got, const ops::HostTensor& wanted,
                             bool flushes_subnormals) {
  if (got.element() != wanted.element() || got.shape() != wanted.shape())
    return fmt::format("a tensor {} where {} was due", ops::TensorType{got.element(), got.shape()}.text(),
                       ops::TensorType{wanted.element(), wanted.shape()}.text());
  const double least_normal =
      is_float(got.element()) ? std::ldexp(1.0, format_of(got.element()).least_exponent) : 0;
  for (std::int64_t i = 0; i < got.count(); ++i) {
    if (got.bits_at(i) == wanted.bits_at(i) || (is_nan(got, i) && is_nan(wanted, i))) continue;
    const bool tiny = std::fabs(got.at(i)) <= least_normal && std::fabs(wanted.at(i)) <= least_normal;
    if (flushes_subnormals && tiny) continue;
    return fmt::format("element {} is {} (bits {:#x}), not {} (bits {:#x})", i, got.at(i), got.bits_at(i),
                       wanted.at(i), wanted.bits_at(i));
  }
  return {};
}

std::string slug(std::string_view text) {
  std::string result;
  for (char c : text) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (word) result += c;
    if (!word && !result.empty() && result.back() != '-') result += '-';
  }
  return result;
}

Outcome outcome_of(const Error& error) {
  return error.code == ErrorCode::unsupported ? Outcome::unsupported(error.message)
                                              : Outcome::fail(error.message);
}

}  // namespace halyard::conformance
