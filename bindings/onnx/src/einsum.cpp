#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "importer.h"

/// Einstein's sum: letters name axes; those of the result stay, all others are summed over.
namespace halyard::onnx {
namespace {

struct Named {
  NodeId id;
  std::string letters;  ///< one per axis
};

struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

/// Splits "ab,bc->ac"; an ellipsis is kept as '.'.
Result<Equation> parse(std::string text) {
  std::erase_if(text, [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; });
  for (std::size_t at; (at = text.find("...")) != std::string::npos;) text.replace(at, 3, ".");
  Equation equation;
  const std::size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  for (std::size_t begin = 0; begin <= left.size();) {
    const std::size_t end = std::min(left.find(',', begin), left.size());
    equation.operands.push_back(left.substr(begin, end - begin));
    begin = end + 1;
  }
  if (arrow != std::string::npos) {
    equation.result = text.substr(arrow + 2);
  } else {  // in alphabetical order, the letters that occur once
    std::string sorted = left;
    std::sort(sorted.begin(), sorted.end());
    if (left.find('.') != std::string::npos) equation.result = ".";
    for (char c : sorted)
      if (std::isalpha(static_cast<unsigned char>(c)) != 0 && std::count(left.begin(), left.end(), c) == 1)
        equation.result += c;
  }
  for (const std::string& part : equation.operands)
    if (!std::all_of(part.begin(), part.end(),
                     [](unsigned char c) { return std::isalpha(c) != 0 || c == '.'; }) ||
        std::count(part.begin(), part.end(), '.') > 1)
      return fail(ErrorCode::corrupt_data, fmt::format("equation '{}' is not understood", text));
  return equation;
}

/// Digits for the axes of an ellipsis, aligned at the right: the last is '0' + 9.
std::string with_ellipsis(const std::string& letters, std::size_t axes) {
  std::string digits;
  for (std::size_t i = 0; i < axes; ++i) digits.insert(digits.begin(), static_cast<char>('9' - i));
  std::string result = letters;
  const std::size_t at = result.find('.');
  if (at != std::string::npos) result.replace(at, 1, digits);
  return result;
}

/// Of axes with the same letter the diagonal: the first two become one, until each occurs once.
Result<Named> without_repeats(ops::GraphBuilder& b, Named x) {
  for (std::size_t i = 0; i < x.letters.size(); ++i) {
    const std::size_t j = x.letters.find(x.letters[i], i + 1);
    if (j == std::string::npos) continue;
    const ops::Shape shape = b.shape(x.id);
    const std::int64_t n = shape[i];
    if (shape[j] != n)
      return fail(ErrorCode::corrupt_data, fmt::format("axis '{}' has two extents", x.letters[i]));
    // Both to the end, flattened: the diagonal is every (n + 1)th element.
    std::vector<std::int64_t> order, extents;
    for (std::size_t k = 0; k < x.letters.size(); ++k)
      if (k != i && k != j) order.push_back(static_cast<std::int64_t>(k));
    for (std::int64_t axis : order) extents.push_back(shape[static_cast<std::size_t>(axis)]);
    order.insert(order.end(), {static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)});
    extents.push_back(n * n);
    const char letter = x.letters[i];
    HALYARD_ASSIGN(x.id, b.permute(x.id, order));
    HALYARD_ASSIGN(x.id, b.reshape(x.id, extents));
    HALYARD_ASSIGN(x.id, b.slice_axis(x.id, -1, 0, std::nullopt, n + 1));
    std::erase(x.letters, letter);
    x.letters += letter;
    i = static_cast<std::size_t>(-1);  // from the start
  }
  return x;
}

/// Sums over the letters that nothing else needs.
Result<Named> without_unneeded(ops::GraphBuilder& b, Named x, const std::string& needed) {
  std::vector<std::int64_t> axes;
  std::string kept;
  for (std::size_t i = 0; i < x.letters.size(); ++i) {
    if (needed.find(x.letters[i]) == std::string::npos)
      axes.push_back(static_cast<std::int64_t>(i));
    else
      kept += x.letters[i];
  }
  if (axes.empty()) return x;
  HALYARD_ASSIGN(x.id, b.reduce(Primitive::reduce_sum, x.id, axes));
  x.letters = kept;
  return x;
}

/// The product of two: letters of both that are needed are batch axes, those that are not are contracted.
Result<Named> product(ops::GraphBuilder& b, const Named& x, const Named& y, const std::string& needed) {
  ops::DotDimensions dot;
  Named result;
  std::string left, right;
  for (std::size_t i = 0; i < x.letters.size(); ++i) {
    const char letter = x.letters[i];
    const std::size_t j = y.letters.find(letter);
    const bool is_needed = needed.find(letter) != std::string::npos;
    if (j == std::string::npos) {
      left += letter;
      continue;
    }
    (is_needed ? dot.lhs_batch : dot.lhs_contracting).push_back(static_cast<std::int64_t>(i));
    (is_needed ? dot.rhs_batch : dot.rhs_contracting).push_back(static_cast<std::int64_t>(j));
    if (is_needed) result.letters += letter;
  }
  for (char letter : y.letters)
    if (x.letters.find(letter) == std::string::npos) right += letter;
  result.letters += left + right;
  HALYARD_ASSIGN(result.id, b.dot_general(x.id, y.id, std::move(dot)));
  return result;
}

}  // namespace

Results einsum(ImportContext& c) {
  HALYARD_ASSIGN(std::string text, c.attributes.text("equation", ""));
  HALYARD_ASSIGN(Equation equation, parse(text));
  if (equation.operands.size() != c.operands.size())
    return fail(ErrorCode::corrupt_data,
                fmt::format("equation '{}' for {} operands", text, c.operands.size()));
  std::vector<Named> operands;
  std::size_t widest = 0;
  for (std::size_t i = 0; i < c.operands.size(); ++i) {
    HALYARD_TRY(c.operand(i));
    const std::string& letters = equation.operands[i];
    const bool has_ellipsis = letters.find('.') != std::string::npos;
    const std::size_t named = letters.size() - (has_ellipsis ? 1 : 0);
    if (has_ellipsis ? c.rank(i) < named || c.rank(i) - named > 9 : c.rank(i) != named)
      return fail(ErrorCode::corrupt_data, fmt::format("'{}' does not fit {}", letters, c.shape(i).text()));
    widest = std::max(widest, c.rank(i) - named);
    Named made{*c.operands[i], with_ellipsis(letters, c.rank(i) - named)};
    HALYARD_ASSIGN(made, without_repeats(c.builder, std::move(made)));
    operands.push_back(std::move(made));
  }
  const std::string result = with_ellipsis(equation.result, widest);
  Named total = operands[0];
  for (std::size_t i = 0; i < operands.size(); ++i) {
    std::string needed = result;  // and what the operands still to come have
    for (std::size_t j = i + 1; j < operands.size(); ++j) needed += operands[j].letters;
    if (i > 0) {
      HALYARD_ASSIGN(total, product(c.builder, total, operands[i], needed));
    }
    HALYARD_ASSIGN(total, without_unneeded(c.builder, std::move(total), needed));
  }
  std::vector<std::int64_t> order;
  for (char letter : result) {
    const std::size_t at = total.letters.find(letter);
    if (at == std::string::npos)
      return fail(ErrorCode::corrupt_data,
                  fmt::format("result axis '{}' is in no operand of '{}'", letter, text));
    order.push_back(static_cast<std::int64_t>(at));
  }
  return one(c.builder.permute(total.id, order));
}

}  // namespace halyard::onnx
