#pragma once

#include <fmt/format.h>
#include <halyard/conformance/report.h>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

/// JSON of reports, written with keys in a fixed order and read with suspicion.
namespace halyard::conformance {

using Json = nlohmann::ordered_json;  // writes keys in the order of the code
using Parsed = nlohmann::json;        // finds keys in logarithmic time: the ordered one takes linear

/// Reads fields of one object; remembers the first that is missing or of another type.
class Reader {
 public:
  Reader(const Parsed& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) problem_ = where_ + " is no object";
  }

  const std::string& problem() const { return problem_; }
  bool has(const char* field) const { return json_.is_object() && json_.contains(field); }
  const Parsed& at(const char* field) {
    static const Parsed nothing;
    if (has(field)) return json_[field];
    complain(field, "is missing");
    return nothing;
  }
  std::string text(const char* field) {
    const Parsed& value = at(field);
    if (value.is_string()) return value.get<std::string>();
    complain(field, "is no text");
    return {};
  }
  std::string optional_text(const char* field) { return has(field) ? text(field) : std::string(); }
  /// One of the two words.
  std::string either(const char* field, std::string_view one, std::string_view other) {
    std::string word = text(field);
    if (word != one && word != other) complain(field, fmt::format("is neither '{}' nor '{}'", one, other));
    return word;
  }
  /// A finite number from 0 on.
  double amount(const char* field) {
    const Parsed& value = at(field);
    if (!value.is_number())
      complain(field, "is no number");
    else if (value.get<double>() >= 0)
      return value.get<double>();
    complain(field, "is less than 0");
    return 0;
  }
  std::uint64_t whole(const char* field) {
    const Parsed& value = at(field);
    if (value.is_number_unsigned()) return value.get<std::uint64_t>();
    complain(field, "is no whole number without sign");
    return 0;
  }
  bool flag(const char* field) {
    const Parsed& value = at(field);
    if (value.is_boolean()) return value.get<bool>();
    complain(field, "is neither true nor false");
    return false;
  }
  void complain(const char* field, std::string_view what) {
    if (problem_.empty()) problem_ = fmt::format("'{}' of {} {}", field, where_, what);
  }

 private:
  const Parsed& json_;
  std::string where_;
  std::string problem_;
};

/// `invalid_argument` with the reader's first problem.
Status checked(const Reader& reader);

/// That a document is of this format at all, in a version known here: from 1 to `newest`.
Status check_format(const Parsed& json, std::string_view format, std::uint64_t newest);

/// What a report says of a device.
Json json_of(const Report::DeviceLine& device);
Result<Report::DeviceLine> device_of(const Parsed& json, const char* where);

}  // namespace halyard::conformance
