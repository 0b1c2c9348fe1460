#pragma once

#include <halyard/fusion/emit_llvm.h>
#include <halyard/program/builder.h>
#include <halyard/program/program.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>
#include "emit_llvm_device.h"

/// Programs printed as LLVM IR and run by the cpu backend, against the interpreter of thread programs: same
/// bits, NaNs counting as equal. Each runs twice: as printed for this processor, and as printed for one
/// without FMA and F16C.
namespace halyard::fusion::tests {

using Bytes = std::vector<std::byte>;

/// The one device of these tests.
CpuDevice& device();

struct Case {
  program::Program program;
  std::vector<Bytes> buffers;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  Bytes scalars;
};

/// The fact that every test states: the printed program does what the interpreter does.
void check_agrees(const Case& what);

/// Bytes of `count` elements: special values first, then random bit patterns.
Bytes interesting(ElementType element, std::size_t count, unsigned seed = 1);
/// Room for `count` elements, holding what no test expects.
Bytes zeros(ElementType element, std::size_t count);

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

constexpr ElementType all_elements[] = {
    ElementType::boolean, ElementType::i8,  ElementType::i16, ElementType::i32, ElementType::i64,
    ElementType::u8,      ElementType::u16, ElementType::u32, ElementType::u64, ElementType::f16,
    ElementType::bf16,    ElementType::f32, ElementType::f64};

/// A program of one workgroup per `lanes` elements: out = compute(inputs).
Case lane_wise(
    const std::string& name, std::vector<ElementType> inputs, ElementType output, std::uint16_t lanes,
    std::size_t count,
    const std::function<program::ValueId(program::Builder&, const std::vector<program::ValueId>&)>& compute);

}  // namespace halyard::fusion::tests
