#include <fmt/format.h>
#include <halyard/fusion/lower.h>
#include <algorithm>

namespace halyard::fusion {
namespace {

tl::unexpected<Error> refuse(const TileProgram& program, std::string_view reason) {
  return fail(ErrorCode::unsupported, fmt::format("kernel {}: {}", program.name, reason));
}

}  // namespace

Result<Pattern> classify(const TileProgram& program) {
  HALYARD_TRY(verify(program));
  std::size_t dots = 0;
  const TileValue* first_reduction = nullptr;
  bool alike = true;
  for (const TileValue& value : program.values) {
    if (value.op == TileOp::dot) ++dots;
    if (value.op != TileOp::reduce) continue;
    if (!first_reduction) first_reduction = &value;
    alike = alike && value.axes_list == first_reduction->axes_list &&
            value.reduces_last_axis == first_reduction->reduces_last_axis;
  }
  if (dots == 1 && !first_reduction) return Pattern::contraction;
  if (dots == 2 && first_reduction) {
    if (!alike)
      return refuse(program, "the reductions between its two products do not run over the same axes");
    return Pattern::attention;
  }
  if (dots > 0)
    return refuse(program, dots == 1
                               ? "it has a product and a reduction; only reductions between two products fuse"
                               : "its products do not form an attention");
  if (!first_reduction) return Pattern::map;
  if (!alike)
    return refuse(program,
                  "its reductions do not all run over the same axes in the same order of accumulation");
  return first_reduction->reduces_last_axis ? Pattern::rows : Pattern::columns;
}

}  // namespace halyard::fusion
