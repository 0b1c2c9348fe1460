#include <halyard/conformance/exceptions.h>

#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace halyard::conformance {
namespace {

Result<std::string> text_of(const nlohmann::json& row, std::size_t number, const char* field, bool required) {
  if (!row.contains(field) && !required) return std::string();
  if (!row.contains(field) || !row[field].is_string() ||
      (required && row[field].get_ref<const std::string&>().empty()))
    return fail(ErrorCode::invalid_argument,
                fmt::format("exceptions: row {} needs a text '{}'", number, field));
  return row[field].get<std::string>();
}

Result<Exception> parse_row(const nlohmann::json& row, std::size_t number) {
  if (!row.is_object())
    return fail(ErrorCode::invalid_argument, fmt::format("exceptions: row {} is no object", number));
  Exception exception;
  HALYARD_ASSIGN(std::string kind, text_of(row, number, "kind", true));
  if (kind != "expected_failure" && kind != "unsupported")
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("exceptions: row {} has kind '{}'; write expected_failure or unsupported", number, kind));
  exception.kind = kind == "unsupported" ? Exception::Kind::unsupported : Exception::Kind::expected_failure;
  HALYARD_ASSIGN(exception.device, text_of(row, number, "device", true));
  HALYARD_ASSIGN(exception.driver_version, text_of(row, number, "driver_version", false));
  HALYARD_ASSIGN(exception.cases, text_of(row, number, "cases", true));
  HALYARD_ASSIGN(exception.reason, text_of(row, number, "reason", true));
  return exception;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) {
  // The last * seen, and how much of the text it has taken: on a mismatch it takes one character more.
  std::size_t star = std::string_view::npos, taken = 0, p = 0, t = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Result<std::vector<Exception>> parse_exceptions(std::string_view text) {
  const nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
  if (document.is_discarded() || !document.is_array())
    return fail(ErrorCode::invalid_argument, "exceptions: the file is no JSON array of rows");
  std::vector<Exception> exceptions;
  for (std::size_t i = 0; i < document.size(); ++i) {
    HALYARD_ASSIGN(Exception row, parse_row(document[i], i));
    exceptions.push_back(std::move(row));
  }
  return exceptions;
}

Result<std::vector<Exception>> exceptions_for(const hal::DeviceInfo& info,
                                              const std::filesystem::path& backend) {
  if (backend.empty()) return std::vector<Exception>();
  const std::filesystem::path path = backend.parent_path() / (backend.stem().string() + ".conformance.json");
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::vector<Exception>();
  std::ostringstream text;
  text << file.rdbuf();
  auto rows = parse_exceptions(text.str());
  if (!rows) return fail(rows.error().code, fmt::format("{}: {}", path.string(), rows.error().message));
  std::erase_if(*rows, [&](const Exception& row) {
    return !matches(row.device, info.name) ||
           (!row.driver_version.empty() && !matches(row.driver_version, info.driver_version));
  });
  return rows;
}

Outcome apply(const std::vector<Exception>& exceptions, std::string_view case_name, Outcome outcome) {
  for (const Exception& exception : exceptions) {
    if (!matches(exception.cases, case_name)) continue;
    const std::string found = outcome.message.empty() ? "" : fmt::format(" ({})", outcome.message);
    if (outcome.verdict == Verdict::passed) {
      outcome.verdict = Verdict::stale_exception;
      outcome.message =
          fmt::format("passes, but the exception '{}' says it does not: remove the row", exception.reason);
    } else if (outcome.verdict == Verdict::failed) {
      outcome.verdict =
          exception.kind == Exception::Kind::unsupported ? Verdict::unsupported : Verdict::expected_failure;
      outcome.message = exception.reason + found;
    }
    return outcome;
  }
  return outcome;
}

}  // namespace halyard::conformance
