#include "ops_case.h"
#include "values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <halyard/hal/nearest_name.h>
#include <algorithm>
#include <charconv>

namespace halyard::conformance {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

Result<std::vector<std::int64_t>> parse_shape(std::string_view text) {
  std::vector<std::int64_t> shape;
  if (text == "scalar") return shape;
  for (std::string_view part : split(text, 'x')) {
    std::int64_t extent = 0;
    const auto [end, problem] = std::from_chars(part.data(), part.data() + part.size(), extent);
    if (problem != std::errc{} || end != part.data() + part.size() || extent < 0)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("'{}' is no shape: write extents like 33x7, or scalar", text));
    shape.push_back(extent);
  }
  HALYARD_TRY(ops::checked_count(shape));
  return shape;
}

Result<ops::Primitive> parse_primitive(std::string_view text) {
  if (auto primitive = ops::parse_primitive(text)) return *primitive;
  std::vector<std::string> names;
  for (const ops::PrimitiveRow& row : ops::rows()) names.emplace_back(row.name);
  const std::string nearest = hal::nearest_name(text, names);
  return fail(ErrorCode::invalid_argument,
              fmt::format("'{}' is no primitive{}", text,
                          nearest.empty() ? "" : fmt::format(": did you mean '{}'?", nearest)));
}

Result<ElementType> parse_element(std::string_view text) {
  if (auto element = parse_element_type(text)) return *element;
  return fail(ErrorCode::invalid_argument,
              fmt::format("'{}' is no element type: write f32, i64, bool …", text));
}

}  // namespace

std::string OpsCase::name() const {
  return fmt::format("ops/{}/{}{}/{}/{}/{}", ops::name(primitive), halyard::name(element),
                     to ? fmt::format("-{}", halyard::name(*to)) : "", shape_text(shape), form, values);
}

Result<OpsCase> OpsCase::parse(std::string_view name) {
  const auto parts = split(name, '/');
  if (parts.size() != 6 || parts[0] != "ops")
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' is no case: write ops/PRIMITIVE/ELEMENT/SHAPE/FORM/VALUES", name));
  OpsCase result;
  HALYARD_ASSIGN(result.primitive, parse_primitive(parts[1]));
  const auto elements = split(parts[2], '-');
  HALYARD_ASSIGN(result.element, parse_element(elements[0]));
  if (elements.size() > 1) {
    HALYARD_ASSIGN(result.to, parse_element(elements[1]));
  }
  HALYARD_ASSIGN(result.shape, parse_shape(parts[3]));
  result.form = parts[4];
  result.values = parts[5];
  if (!parse_values(result.values))
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("'{}' are no values: write ordinary, moderate, factors, small, special, minus-zero, "
                    "sparse or all",
                    parts[5]));
  return result;
}

std::vector<OpsCase> smaller_ops_cases(const OpsCase& description) {
  std::vector<OpsCase> result;
  if (description.values == "special" || description.values == "all" || description.values == "sparse")
    return result;
  const auto with = [&](std::vector<std::int64_t> shape) {
    OpsCase smaller = description;
    smaller.shape = std::move(shape);
    if (smaller.shape != description.shape) result.push_back(std::move(smaller));
  };
  // All extents alike first, then one axis after another.
  for (std::int64_t extent : {1, 2, 3, 5, 9, 17, 33, 65, 129, 257, 513, 1025, 2049, 4097}) {
    std::vector<std::int64_t> shape = description.shape;
    for (std::int64_t& each : shape) each = std::min(each, extent);
    with(shape);
  }
  for (std::size_t axis = 0; axis < description.shape.size(); ++axis)
    for (std::int64_t extent : {1, 2, 3}) {
      std::vector<std::int64_t> shape = description.shape;
      shape[axis] = std::min(shape[axis], extent);
      with(shape);
    }
  const auto count = [](const OpsCase& each) {
    std::int64_t product = 1;
    for (std::int64_t extent : each.shape) product *= extent;
    return product;
  };
  std::stable_sort(result.begin(), result.end(),
                   [&](const OpsCase& a, const OpsCase& b) { return count(a) < count(b); });
  result.erase(std::unique(result.begin(), result.end(),
                           [](const OpsCase& a, const OpsCase& b) { return a.shape == b.shape; }),
               result.end());
  return result;
}

}  // namespace halyard::conformance
