#include "sample_programs.h"

#include <halyard/program/op_facts.h>

namespace halyard::program::samples {
namespace {

/// The workgroup's first element: 64-bit, as buffers may be large.
ValueId global_index(Builder& b, std::int32_t lanes) {
  ValueId base = b.mul(b.builtin(Builtin::workgroup_x), b.i32(lanes));
  return b.add(base, b.builtin(Builtin::lane));
}

bool applies(const OpFacts& facts, ElementType element) {
  switch (facts.elements) {
    case Elements::any:
      return true;
    case Elements::number:
      return element != ElementType::boolean;
    case Elements::integer:
      return is_integer(element);
    case Elements::floating:
      return is_float(element);
    case Elements::bits:
      return !is_float(element);
    case Elements::wide_integer:
      return is_integer(element) && byte_size(element) >= 4;
    default:
      return false;
  }
}

}  // namespace

Program scaled_sum() {
  Builder b("scaled_sum");
  b.program().note = "y = a x + y\none element per lane";
  b.program().workgroup_size[0] = 64;
  MemoryRef x = b.buffer("x", ElementType::f32, Access::read);
  MemoryRef y = b.buffer("y", ElementType::f32, Access::read_write);
  ValueId a = b.parameter("a", ElementType::f32);
  ValueId n = b.parameter("n", ElementType::i32);
  ValueId i = global_index(b, 64);
  b.note("element of this lane");
  b.if_then(b.compare(Op::lt, i, n), [&] {
    b.comment("two roundings, never contracted");
    ValueId product = b.mul(a, b.load(x, i));
    b.store(y, i, b.add(product, b.load(y, i)));
  });
  return std::move(b).finish();
}

Program subtract_row_sum() {
  constexpr std::int32_t lanes = 128;
  constexpr std::int32_t subgroup = 32;
  Builder b("subtract_row_sum");
  b.program().workgroup_size[0] = lanes;
  b.program().subgroup_size = subgroup;
  MemoryRef x = b.buffer("x", ElementType::f32, Access::read);
  MemoryRef y = b.buffer("y", ElementType::f32, Access::write);
  MemoryRef partial = b.shared("partial", ElementType::f32, lanes);
  ValueId columns = b.parameter("columns", ElementType::i32);
  ValueId lane = b.builtin(Builtin::lane);
  ValueId row = b.mul(b.builtin(Builtin::workgroup_x), columns);

  ValueId sum =
      b.for_loop(lane, columns, b.i32(lanes), {b.f32(0)}, [&](ValueId i, std::span<const ValueId> sums) {
        return std::vector{b.add(sums[0], b.load(x, b.add(row, i)))};
      })[0];
  b.comment("fold by halving: across subgroups through shared memory, then within the first subgroup");
  b.store(partial, lane, sum);
  b.barrier(Scope::workgroup);
  for (std::int32_t width = lanes / 2; width >= subgroup; width /= 2) {
    b.if_then(b.compare(Op::lt, lane, b.i32(width)), [&] {
      b.store(partial, lane, b.add(b.load(partial, lane), b.load(partial, b.add(lane, b.i32(width)))));
    });
    b.barrier(Scope::workgroup);
  }
  ValueId mine = b.load(partial, b.builtin(Builtin::subgroup_lane));
  for (std::uint32_t width = subgroup / 2; width > 0; width /= 2)
    mine = b.add(mine, b.shuffle_xor(mine, width));
  ValueId total = b.broadcast_lane(mine, 0);
  b.for_loop(lane, columns, b.i32(lanes), {}, [&](ValueId i, std::span<const ValueId>) {
    ValueId at = b.add(row, i);
    b.store(y, at, b.sub(b.load(x, at), total));
    return std::vector<ValueId>{};
  });
  return std::move(b).finish();
}

Program vector_chain() {
  constexpr std::uint16_t width = 8;
  Builder b("vector_chain");
  MemoryRef x = b.buffer("x", ElementType::f16, Access::read);
  MemoryRef y = b.buffer("y", ElementType::f32, Access::write);
  MemoryRef scratch = b.shared("scratch", ElementType::f32, 64);
  ValueId n = b.parameter("n", ElementType::i64);
  ValueId zero = b.constant({ElementType::f32, width}, 0);
  ValueId one = b.constant({ElementType::f32, width}, 1);
  b.store(scratch, b.i32(0), zero, no_value, 32);
  std::vector<ValueId> swapped = b.for_loop(
      b.i64(0), n, b.i64(width), {zero, one},
      [&](ValueId i, std::span<const ValueId> pair) {
        ValueId lanes = b.binary(Op::add, b.splat(i, width), b.iota({ElementType::i64, width}));
        ValueId mask = b.compare(Op::lt, lanes, b.splat(n, width));
        ValueId wide = b.cast(ElementType::f32, b.load(x, i, width, mask));
        ValueId picked = b.if_else(
            b.compare(Op::ge, i, b.i64(16)), [&] { return std::vector{b.fma(wide, pair[1], pair[0])}; },
            [&] {
              ValueId reversed = b.shuffle(wide, wide, {7, 6, 5, 4, 3, 2, 1, 0});
              return std::vector{b.select(mask, reversed, wide)};
            })[0];
        b.store(y, i, picked, mask);
        return std::vector{pair[1], pair[0]};
      },
      2);
  b.prefetch(x, b.i64(0));
  ValueId low = b.insert(swapped[0], b.extract(swapped[1], 3), 0);
  ValueId both = b.concat(low, swapped[1]);
  b.store(scratch, b.i32(8), b.slice(both, 4, 8));
  b.scatter(scratch, b.iota({ElementType::i32, width}, 16),
            b.gather(scratch, b.iota({ElementType::i32, width}, 8)));
  return std::move(b).finish();
}

Program every_operation(ElementType element, std::uint16_t lanes) {
  Builder b("every_operation");
  MemoryRef inputs[3];
  for (int i = 0; i < 3; ++i) inputs[i] = b.buffer(std::string("in") + char('0' + i), element, Access::read);
  MemoryRef outputs = b.buffer("out", element, Access::write);
  MemoryRef flags = b.buffer("flags", ElementType::boolean, Access::write);
  ValueId operands[3];
  for (int i = 0; i < 3; ++i) operands[i] = b.load(inputs[i], b.i32(0), lanes);
  std::int32_t output = 0;
  std::int32_t flag = 0;
  for (const OpFacts& facts : op_table()) {
    if (!applies(facts, element)) continue;
    if (facts.kind == OpKind::comparison) {
      b.store(flags, b.i32(lanes * flag++), b.compare(facts.op, operands[0], operands[1]));
      continue;
    }
    if (facts.kind != OpKind::lane_wise) continue;
    ValueId result = facts.operands_min == 1   ? b.unary(facts.op, operands[0])
                     : facts.operands_min == 2 ? b.binary(facts.op, operands[0], operands[1])
                                               : b.fma(operands[0], operands[1], operands[2]);
    b.store(outputs, b.i32(lanes * output++), result);
  }
  return std::move(b).finish();
}

std::vector<Program> all() {
  std::vector<Program> programs;
  programs.push_back(scaled_sum());
  programs.push_back(subtract_row_sum());
  programs.push_back(vector_chain());
  for (std::size_t i = 0; i < element_type_facts.size(); ++i) {
    programs.push_back(every_operation(static_cast<ElementType>(i), 4));
    programs.push_back(every_operation(static_cast<ElementType>(i), 1));
  }
  return programs;
}

}  // namespace halyard::program::samples
