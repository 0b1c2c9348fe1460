#include "window_attributes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace halyard::onnx {
namespace {

bool is_in(const std::vector<std::int64_t>& list, std::size_t count, std::int64_t least) {
  return list.size() == count && std::all_of(list.begin(), list.end(), [&](std::int64_t each) {
           return each >= least && each <= largest_window;
         });
}

Result<AutoPad> parse_auto_pad(const std::string& text) {
  if (text == "NOTSET" || text.empty()) return AutoPad::given;
  if (text == "VALID") return AutoPad::valid;
  if (text == "SAME_UPPER") return AutoPad::same_upper;
  if (text == "SAME_LOWER") return AutoPad::same_lower;
  return fail(ErrorCode::corrupt_data, fmt::format("auto_pad '{}' is unknown", text));
}

}  // namespace

Result<WindowAttributes> WindowAttributes::read(const ImportContext& c, std::vector<std::int64_t> kernel) {
  WindowAttributes window;
  const ops::Shape& shape = c.shape(0);
  const std::size_t count = shape.rank() < 3 ? 0 : shape.rank() - 2;
  HALYARD_ASSIGN(window.options.strides,
                 c.attributes.integers("strides", std::vector<std::int64_t>(count, 1)));
  HALYARD_ASSIGN(window.options.dilations,
                 c.attributes.integers("dilations", std::vector<std::int64_t>(count, 1)));
  HALYARD_ASSIGN(std::vector<std::int64_t> pads,
                 c.attributes.integers("pads", std::vector<std::int64_t>(2 * count, 0)));
  HALYARD_ASSIGN(std::string automatic, c.attributes.text("auto_pad", "NOTSET"));
  HALYARD_ASSIGN(window.automatic, parse_auto_pad(automatic));
  HALYARD_ASSIGN(std::int64_t rounds_up, c.attributes.integer("ceil_mode", 0));
  if (count == 0 || !is_in({shape.vector().begin() + 2, shape.vector().end()}, count, 0) ||
      !is_in(kernel, count, 1) || !is_in(window.options.strides, count, 1) ||
      !is_in(window.options.dilations, count, 1) || !is_in(pads, 2 * count, 0))
    return fail(ErrorCode::corrupt_data,
                fmt::format("kernel [{}], strides [{}], dilations [{}] and pads [{}] do not fit {}",
                            fmt::join(kernel, ", "), fmt::join(window.options.strides, ", "),
                            fmt::join(window.options.dilations, ", "), fmt::join(pads, ", "), shape.text()));
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(count);
  window.options.before.assign(pads.begin(), middle);
  window.options.after.assign(middle, pads.end());
  window.beyond.assign(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t extent = shape[2 + i], stride = window.options.strides[i];
    const std::int64_t reach = (kernel[i] - 1) * window.options.dilations[i] + 1;
    std::int64_t &before = window.options.before[i], &after = window.options.after[i];
    if (window.automatic == AutoPad::valid) before = after = 0;
    if (window.automatic == AutoPad::same_upper || window.automatic == AutoPad::same_lower) {
      const std::int64_t results = (extent + stride - 1) / stride;
      const std::int64_t total = std::max<std::int64_t>((results - 1) * stride + reach - extent, 0);
      before = window.automatic == AutoPad::same_upper ? total / 2 : total - total / 2;
      after = total - before;
    }
    const std::int64_t left = extent + before + after - reach;
    if (rounds_up && left > 0 && left % stride != 0) {
      // A window that would start in the padding behind is none.
      const bool starts_inside = (left / stride + 1) * stride < extent + before;
      if (starts_inside) window.beyond[i] = stride - left % stride;
    }
  }
  window.kernel = std::move(kernel);
  return window;
}

}  // namespace halyard::onnx
