#pragma once

#include <halyard/program/program.h>
#include <algorithm>

namespace halyard::program {

bool same(const Block& a, const Block& b);

inline bool same(const Instruction& a, const Instruction& b) {
  return a.op == b.op && a.type == b.type && a.immediate == b.immediate && a.memory == b.memory &&
         a.alignment == b.alignment && a.operands == b.operands && a.results == b.results &&
         a.indices == b.indices && a.note == b.note &&
         std::equal(a.blocks.begin(), a.blocks.end(), b.blocks.begin(), b.blocks.end(),
                    [](const Block& x, const Block& y) { return same(x, y); });
}

inline bool same(const Block& a, const Block& b) {
  return a.arguments == b.arguments &&
         std::equal(a.body.begin(), a.body.end(), b.body.begin(), b.body.end(),
                    [](const Instruction& x, const Instruction& y) { return same(x, y); });
}

/// Field by field.
inline bool same(const Program& a, const Program& b) {
  auto equal = [](const auto& x, const auto& y, auto compare) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), compare);
  };
  return a.name == b.name && a.note == b.note &&
         std::equal(a.workgroup_size, a.workgroup_size + 3, b.workgroup_size) &&
         a.subgroup_size == b.subgroup_size && a.values == b.values &&
         equal(a.buffers, b.buffers,
               [](const BufferParameter& x, const BufferParameter& y) {
                 return x.name == y.name && x.element == y.element && x.access == y.access;
               }) &&
         equal(a.scalars, b.scalars,
               [](const ScalarParameter& x, const ScalarParameter& y) {
                 return x.name == y.name && x.element == y.element;
               }) &&
         equal(a.shared, b.shared,
               [](const SharedArray& x, const SharedArray& y) {
                 return x.name == y.name && x.element == y.element && x.count == y.count;
               }) &&
         same(a.body, b.body);
}

}  // namespace halyard::program
