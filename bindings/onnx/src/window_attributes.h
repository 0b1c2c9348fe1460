#pragma once

#include <halyard/ops/windowed.h>

#include "importer.h"

namespace halyard::onnx {

/// No window, padding or spatial axis is larger: products of two stay far from overflow.
inline constexpr std::int64_t largest_window = (std::int64_t{1} << 31) - 1;

enum class AutoPad : std::uint8_t { given, valid, same_upper, same_lower };

/// The attributes that convolutions and pooling share, every list at its full length.
struct WindowAttributes {
  std::vector<std::int64_t> kernel;
  ops::WindowOptions options;
  /// With ceil_mode: more padding behind, for a last window that ends beyond the padded operand.
  std::vector<std::int64_t> beyond;
  AutoPad automatic = AutoPad::given;

  /// Of a node whose operand 0 is [batch, channels, spatial…]; `corrupt_data` if they do not fit it.
  static Result<WindowAttributes> read(const ImportContext& context, std::vector<std::int64_t> kernel);
};

}  // namespace halyard::onnx
