#include "operations_page.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <halyard/ops/primitive.h>
#include <vector>

namespace halyard::ops {
namespace {

std::string element_list(ElementSet set) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < element_type_facts.size(); ++i)
    if (contains(set, static_cast<ElementType>(i))) names.push_back(element_type_facts[i].name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string error_text(const ErrorBound& bound) {
  if (!bound.formula.empty()) return std::string(bound.formula);
  if (bound.ulp_f32 == 0) return "exact";
  if (bound.ulp_f32 == 0.5) return "0.5 ULP (correctly rounded)";
  if (bound.ulp_f32 == bound.ulp_f64) return fmt::format("{} ULP in f32 and f64", bound.ulp_f32);
  return fmt::format("{} ULP in f32, {} in f64", bound.ulp_f32, bound.ulp_f64);
}

std::string row_text(const PrimitiveRow& row) {
  std::string operands = row.operands == any_number ? "1 or more" : std::to_string(row.operands);
  return fmt::format("### {}\n\n{}\n\n- operands: {}; elements T: {}; {}\n- shape: {}\n- error: {}\n\n",
                     row.name, row.doc, operands, element_list(row.allowed), describe(row.element_rule),
                     describe(row.shape_rule), error_text(row.error));
}

}  // namespace

std::string operations_page() {
  std::string page =
      "# Primitive operations\n\n"
      "This page is generated from the table in `ops/src/primitive_table.cpp` by "
      "`halyard_write_operations_page`; do not "
      "edit it. Everything that is not here (softmax, layer norm, GELU, attention, …) is a composition of "
      "these: see "
      "`ops/include/halyard/ops/compositions.h`. The orders of sums and the meaning of the bounds are in "
      "[numerics.md](numerics.md).\n\n"
      "16-bit floats are computed in f32 and rounded at every operation. ULP: units in the last place of the "
      "result's "
      "type; for 16-bit types add half a unit of theirs.\n\n";
  Kind current = Kind::source;
  bool first = true;
  for (const PrimitiveRow& row : rows()) {
    if (first || row.kind != current) page += fmt::format("## {}\n\n", name(row.kind));
    first = false;
    current = row.kind;
    page += row_text(row);
  }
  page.pop_back();
  return page;
}

}  // namespace halyard::ops
