#include <algorithm>
#include <set>

#include "ops_case.h"
#include "values.h"

/// Which cases stand in the ops suite: every row of the table with every element type it allows; f32, and a
/// few primitives that stand for their kind, on more shapes and views.
namespace halyard::conformance {
namespace {

using ops::Kind;
using ops::Primitive;
using Extents = std::vector<std::int64_t>;

class List {
 public:
  explicit List(const ops::PrimitiveRow& row) : row_(row) {}

  std::vector<OpsCase> cases;

  void add(ElementType element, const Extents& shape, std::string form, std::string values,
           std::optional<ElementType> to = std::nullopt) {
    cases.push_back({row_.primitive, element, to, shape, std::move(form), std::move(values)});
  }
  std::vector<ElementType> elements() const {
    std::vector<ElementType> result;
    for (std::size_t i = 0; i < element_type_facts.size(); ++i)
      if (ops::contains(row_.allowed, static_cast<ElementType>(i)))
        result.push_back(static_cast<ElementType>(i));
    return result;
  }
  /// The type on which shapes and views are tried.
  ElementType main_element() const {
    for (ElementType element : {ElementType::f32, ElementType::i32})
      if (ops::contains(row_.allowed, element)) return element;
    return elements().front();
  }
  const ops::PrimitiveRow& row() const { return row_; }

 private:
  const ops::PrimitiveRow& row_;
};

constexpr std::string_view views[] = {"transposed", "stepped", "reversed", "broadcast", "offset"};

void list_conversions(List& list) {
  for (ElementType from : list.elements())
    for (ElementType to : list.elements()) {
      if (list.row().primitive == Primitive::bitcast && byte_size(from) != byte_size(to)) continue;
      if (from == to) continue;
      list.add(from, {special_count(from)}, "plain", "special", to);
      list.add(from, {129}, "plain", "ordinary", to);
    }
}

void list_elementwise(List& list) {
  const Primitive primitive = list.row().primitive;
  if (primitive == Primitive::cast || primitive == Primitive::bitcast) return list_conversions(list);
  const int operands = list.row().operands;
  for (ElementType element : list.elements()) {
    const std::int64_t specials = special_count(element);
    list.add(element, {operands == 1 ? specials : specials * specials}, "plain", "special");
    list.add(element, {129}, "plain", "ordinary");
    const bool narrow = element == ElementType::f16 || element == ElementType::bf16;
    if (narrow && operands == 1) list.add(element, {65536}, "plain", "all");
  }
  const ElementType element = list.main_element();
  for (const Extents& shape :
       {Extents{}, Extents{0}, Extents{1}, Extents{127}, Extents{1009}, Extents{3, 0, 2}})
    list.add(element, shape, "plain", "ordinary");
  for (std::string_view view : views) list.add(element, {33, 7}, std::string(view), "ordinary");
  if (primitive != Primitive::add && primitive != Primitive::exp && primitive != Primitive::select) return;
  for (std::int64_t extent : {7, 8, 9, 31, 32, 33, 63, 64, 65, 128, 4099, 70001})
    list.add(element, {extent}, "plain", "ordinary");
  // More than 65,535 workgroups of 256.
  if (primitive == Primitive::select) list.add(ElementType::u8, {20'000'003}, "plain", "ordinary");
  for (std::string_view view : views) list.add(element, {3, 5, 7, 4}, std::string(view), "ordinary");
}

void list_reduction(List& list) {
  const Primitive primitive = list.row().primitive;
  const bool argument = primitive == Primitive::argmax || primitive == Primitive::argmin;
  const std::string values = primitive == Primitive::reduce_prod ? "factors" : "moderate";
  const auto to = argument ? std::optional(ElementType::i64) : std::nullopt;
  for (ElementType element : list.elements()) {
    // A product of extremes may overflow on the way to a finite result.
    if (primitive != Primitive::reduce_prod) list.add(element, {6, 7}, "axes1", "special", to);
    list.add(element, {special_count(element), 1}, "axes1", "special", to);
    list.add(element, {33, 7}, "axes1", values, to);
    list.add(element, {33, 7}, "axes0", "small", to);
  }
  const ElementType element = list.main_element();
  for (const char* form : {"axes0", "axes1"}) list.add(element, {5, 3}, form, "minus-zero", to);
  if (argument) list.add(element, {129}, "axes0", values, ElementType::i32);
  for (const Extents& shape :
       {Extents{1}, Extents{127}, Extents{129}, Extents{4095}, Extents{4097}, Extents{9001}})
    for (const std::string& each : {values, std::string("small")})
      list.add(element, shape, "axes0", each, to);
  for (const Extents& shape : {Extents{33, 7}, Extents{129, 3}, Extents{5, 1025}, Extents{200, 65}})
    for (const char* form : {"axes0", "axes1", "axes1-keep"}) list.add(element, shape, form, values, to);
  for (std::string_view view : views) list.add(element, {33, 7}, "axes1-" + std::string(view), values, to);
  for (const char* form : {"axes0", "axes1", "axes2"}) list.add(element, {3, 5, 7}, form, values, to);
  if (argument) return;
  list.add(element, {4, 0}, "axes1", values);
  list.add(element, {0, 4}, "axes1", values);
  for (const char* form : {"axes01", "axes02", "axes12", "axes012", "axes02-keep"})
    list.add(element, {3, 5, 7}, form, values);
}

void list_contraction(List& list) {
  for (ElementType element : list.elements()) {
    list.add(element, {17, 33, 9}, "plain", is_float(element) ? "moderate" : "ordinary");
    list.add(element, {7, 65, 12}, "plain", "small");
    if (element == ElementType::f16 || element == ElementType::bf16)
      list.add(element, {17, 33, 9}, "plain", "moderate", ElementType::f32);
  }
  const ElementType element = ElementType::f32;
  for (const Extents& shape :
       {Extents{1, 1, 1}, Extents{7, 5, 3}, Extents{33, 65, 17}, Extents{64, 64, 64}, Extents{129, 513, 5},
        Extents{1, 1025, 1}, Extents{1, 300, 64}, Extents{64, 300, 1}, Extents{4, 0, 3}, Extents{0, 4, 3},
        Extents{3, 17, 33, 9}, Extents{2, 3, 8, 16, 8}, Extents{1, 2, 31, 1, 31}})
    for (const char* values : {"moderate", "small"}) list.add(element, shape, "plain", values);
  for (std::string_view view : views) list.add(element, {2, 33, 65, 17}, std::string(view), "moderate");
  for (const Extents& shape : {Extents{3, 2, 5}, Extents{5, 16, 9}, Extents{1, 600, 3}})
    list.add(element, shape, "plain", "minus-zero");
}

void list_scan(List& list) {
  const std::string values = list.row().primitive == Primitive::cumulative_prod ? "factors" : "moderate";
  for (ElementType element : list.elements()) list.add(element, {5, 37}, "axes1", "small");
  const ElementType element = list.main_element();
  for (std::int64_t extent : {0, 1, 15, 16, 17, 255, 257, 1000}) list.add(element, {extent}, "axes0", values);
  list.add(element, {37}, "axes0", "minus-zero");
  for (const char* form :
       {"axes0", "axes1", "axes0-exclusive", "axes1-exclusive", "axes1-reversed", "axes0-transposed"})
    list.add(element, {37, 21}, form, values);
}

void list_sort(List& list) {
  const auto to = std::optional(ElementType::i64);
  for (ElementType element : list.elements()) {
    list.add(element, {special_count(element)}, "axes0", "special", to);
    list.add(element, {5, 37}, "axes1-descending", "small", to);
  }
  const ElementType element = list.main_element();
  for (std::int64_t extent : {0, 1, 2, 255, 256, 257, 1000})
    list.add(element, {extent}, "axes0", "ordinary", ElementType::i32);
  list.add(ElementType::f64, {3, 300}, "axes1", "small", to);
  for (const char* form : {"axes0", "axes1", "axes1-descending", "axes1-reversed", "axes0-transposed"})
    list.add(element, {37, 21}, form, "small", to);
}

void list_scatter(List& list) {
  const std::string values = list.row().primitive == Primitive::scatter_prod ? "factors" : "moderate";
  const auto to = std::optional(ElementType::i64);
  for (ElementType element : list.elements()) list.add(element, {9, 7}, "axes0", "small", to);
  const ElementType element = list.main_element();
  for (const Extents& shape : {Extents{1, 1}, Extents{33, 7}, Extents{3, 129}})
    for (const char* form : {"axes0", "axes1"}) list.add(element, shape, form, values, to);
  for (std::int64_t extent : {1, 5, 300}) list.add(element, {extent}, "axes0", values, ElementType::i32);
  for (const char* form : {"axes0", "axes1", "axes2", "axes1-transposed", "axes1-stepped"})
    list.add(element, {3, 5, 7}, form, values, to);
  list.add(element, {4, 0}, "axes0", values, to);
}

void list_movement(List& list) {
  const Primitive primitive = list.row().primitive;
  const bool along = primitive == Primitive::concat || primitive == Primitive::reverse ||
                     primitive == Primitive::take || primitive == Primitive::windows;
  std::vector<std::string> forms =
      along ? std::vector<std::string>{"axes0", "axes1"} : std::vector<std::string>{"plain"};
  if (primitive == Primitive::windows) forms.push_back("axes01");
  const auto to = primitive == Primitive::take ? std::optional(ElementType::i64) : std::nullopt;
  for (ElementType element : list.elements()) list.add(element, {33, 7}, forms.front(), "ordinary", to);
  const ElementType element = list.main_element();
  for (const Extents& shape :
       {Extents{1, 1}, Extents{3, 5, 7}, Extents{129, 127}, Extents{65, 2, 3, 4}, Extents{4, 0}}) {
    const bool nothing_to_take = primitive == Primitive::take && shape.back() == 0;
    for (const std::string& form : forms)
      if (!nothing_to_take) list.add(element, shape, form, "ordinary", to);
  }
  for (std::string_view view : views)
    list.add(element, {33, 7}, along ? "axes1-" + std::string(view) : std::string(view), "ordinary", to);
  if (primitive != Primitive::take) return;
  list.add(element, {33, 7}, "axes0", "ordinary", ElementType::i32);
  // More than 2^31 elements, and more than 2^31 bytes of fewer.
  list.add(ElementType::u8, {(std::int64_t{1} << 31) + 7}, "axes0", "sparse", to);
  for (const char* form : {"axes0", "axes1"}) list.add(ElementType::u8, {65537, 32771}, form, "sparse", to);
  list.add(ElementType::i32, {(std::int64_t{1} << 29) + 7}, "axes0", "sparse", ElementType::i32);
}

}  // namespace

namespace {

/// Elements of a case in the fast part.
constexpr std::int64_t largest_fast = 1 << 20;

/// The first case of each element type (of scans, sorts and scatters, which are many kernels: of the first
/// type alone), all values of the 16-bit types, and one in sixteen of the others, by a hash of their names.
void mark_fast(const ops::PrimitiveRow& row, std::vector<OpsCase>& cases) {
  std::set<ElementType> seen;
  const bool is_many_kernels = row.kind == Kind::scan || row.kind == Kind::sort || row.kind == Kind::scatter;
  for (OpsCase& each : cases) {
    const bool first = seen.insert(each.element).second && (!is_many_kernels || seen.size() == 1);
    std::int64_t count = 1;
    for (std::int64_t extent : each.shape) count *= extent;
    const bool chosen = first || each.values == "all" || seed_of(each.name(), 0) % 16 == 0;
    each.fast = chosen && count <= largest_fast;
  }
}

}  // namespace

std::vector<OpsCase> listed_ops_cases() {
  std::vector<OpsCase> all;
  for (const ops::PrimitiveRow& row : ops::rows()) {
    List list(row);
    if (row.kind == Kind::elementwise) list_elementwise(list);
    if (row.kind == Kind::reduction) list_reduction(list);
    if (row.kind == Kind::contraction) list_contraction(list);
    if (row.kind == Kind::scan) list_scan(list);
    if (row.kind == Kind::sort) list_sort(list);
    if (row.kind == Kind::scatter) list_scatter(list);
    if (row.kind == Kind::movement || row.kind == Kind::gather) list_movement(list);
    if (row.primitive == Primitive::iota)
      for (ElementType element : list.elements()) list.add(element, {5, 65}, "axes1", "ordinary");
    mark_fast(row, list.cases);
    all.insert(all.end(), list.cases.begin(), list.cases.end());
  }
  return all;
}

}  // namespace halyard::conformance
