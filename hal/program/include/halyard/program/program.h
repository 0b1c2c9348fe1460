#pragma once

#include <halyard/base/element_type.h>
#include <cstdint>
#include <string>
#include <vector>

/// The thread program: what one lane (on a GPU) or one task (on the cpu) executes. It is structured SSA:
/// values are scalars or short vectors, control flow is nested `for_loop` and `if_else` instructions with
/// explicit results. Three emitters print it, the interpreter runs it, and its serialized form is a module
/// format of its own.
///
/// Execution model. A dispatch runs a grid of workgroups; a workgroup runs `Program::workgroup_size` lanes,
/// grouped into subgroups. On the cpu the workgroup size is 1 and vectors carry the parallelism.
///
/// Arithmetic. Every floating-point operation is rounded once, to nearest even, in its own type; nothing is
/// contracted or reassociated. `fma` is rounded once as a whole and is used only where the device's class is
/// *fused*.
namespace halyard::program {

/// The type of a value: `lanes` elements (a power of two, 1 for a scalar).
struct Type {
  ElementType element = ElementType::i32;
  std::uint16_t lanes = 1;
  friend bool operator==(const Type&, const Type&) = default;
};

/// Names an SSA value: an index into `Program::values`.
enum class ValueId : std::uint32_t {};
inline constexpr ValueId no_value{0xffffffffu};
constexpr std::uint32_t index(ValueId id) {
  return static_cast<std::uint32_t>(id);
}

/// The operations. "Lane-wise" ones take operands of one type and work per lane. Numbers are part of the
/// serialized form: append only.
enum class Op : std::uint16_t {
  // ---- values from outside
  constant = 0,   ///< `immediate` = the element's bits (low bytes), the same in every lane
  iota = 1,       ///< integer vector: lane i is `immediate` + i
  parameter = 2,  ///< scalar parameter number `immediate`
  builtin = 3,    ///< i32 scalar; `immediate` is a `Builtin`

  // ---- lane-wise arithmetic
  add = 10,  ///< integers wrap
  sub = 11,
  mul = 12,
  div = 13,  ///< integers truncate; undefined for a zero divisor or MIN / -1 (callers guard)
  rem = 14,  ///< integers, sign of the dividend; undefined as `div`
  neg = 15,
  abs = 16,   ///< floats clear the sign bit; abs(MIN) wraps to MIN
  sqrt = 17,  ///< correctly rounded
  fma = 18,   ///< a*b+c with one rounding (floats)
  floor = 19,
  ceil = 20,
  trunc = 21,
  round_even = 22,  ///< to the nearest integer, ties to even
  mul_high = 23,    ///< upper half of the full product (u32, i32, u64, i64)

  // ---- lane-wise bits (integers and boolean)
  bit_and = 30,
  bit_or = 31,
  bit_xor = 32,
  bit_not = 33,
  shl = 34,  ///< undefined for an amount >= width (callers guard)
  shr = 35,  ///< arithmetic for signed types, logical for unsigned ones; undefined as `shl`

  // ---- lane-wise comparison: result boolean, same lanes; ordered (false on NaN) except `ne` (true on NaN)
  eq = 40,
  ne = 41,
  lt = 42,
  le = 43,
  gt = 44,
  ge = 45,
  select = 46,  ///< (boolean c, a, b): c ? a : b, per lane

  // ---- conversion
  cast = 50,  ///< to `type.element`. int->int truncates or extends; int->float and float->float round to
              ///< nearest even; float->int truncates and is undefined out of range (callers guard); boolean
              ///< is 0 or 1; x->boolean is x != 0
  bitcast = 51,  ///< same total number of bits

  // ---- vectors
  splat = 60,    ///< scalar to every lane
  extract = 61,  ///< lane number `immediate`
  shuffle = 62,  ///< (a, b): lane i is lane `indices[i]` of a followed by b; result has indices.size() lanes
  insert = 63,   ///< (vector, scalar): lane number `immediate` replaced

  // ---- memory. `memory` names the object; an index is an i32 or i64 scalar counting elements
  load =
      70,  ///< (index [, mask]): `type.lanes` consecutive elements; masked-off lanes read nothing and give 0
  store = 71,     ///< (index, value [, mask])
  gather = 72,    ///< (index vector [, mask]): one element per lane
  scatter = 73,   ///< (index vector, value [, mask]); lanes must name distinct elements
  prefetch = 74,  ///< (index): a hint to bring the element's line near; may be ignored

  // ---- cooperation
  barrier = 80,       ///< `immediate` is a `Scope`; orders shared and global memory among its lanes; uniform
                      ///< control flow only
  shuffle_xor = 81,   ///< (value): the value of subgroup lane (self xor `immediate`)
  shuffle_lane = 82,  ///< (value, i32 lane): the value of that lane
  broadcast_lane = 83,  ///< (value): the value of lane number `immediate`

  // ---- control
  for_loop = 90,  ///< (lower, upper, step > 0, initial…); blocks[0] takes (induction variable, carried…) and
                  ///< yields carried…; `immediate` = unroll hint (0 none)
  if_else = 91,   ///< (boolean scalar); blocks[0] and blocks[1] yield the results
  yield = 92,     ///< ends a block
  comment = 99,   ///< `note` alone; no effect
};

enum class Builtin : std::uint8_t {
  workgroup_x = 0,  ///< this workgroup's coordinate in the grid
  workgroup_y = 1,
  workgroup_z = 2,
  grid_x = 3,  ///< number of workgroups
  grid_y = 4,
  grid_z = 5,
  lane = 6,           ///< this lane's linear number in the workgroup
  subgroup_lane = 7,  ///< this lane's number in its subgroup: lane mod subgroup size
  subgroup = 8,       ///< the subgroup's number in the workgroup: lane div subgroup size
};

enum class Scope : std::uint8_t { subgroup = 0, workgroup = 1 };

/// Which memory object an instruction touches.
struct MemoryRef {
  enum class Space : std::uint8_t {
    buffer,  ///< `Program::buffers[index]`
    shared,  ///< `Program::shared[index]`: per workgroup; on the cpu per-task scratch
  };
  Space space = Space::buffer;
  std::uint32_t index = 0;
  friend bool operator==(const MemoryRef&, const MemoryRef&) = default;
};

struct Block;

/// One instruction. Which fields mean something depends on `op`; the others keep their defaults (the verifier
/// checks).
struct Instruction {
  Op op = Op::comment;
  Type type;  ///< of the result; for stores, of the value stored
  std::uint64_t immediate = 0;
  MemoryRef memory;
  std::uint32_t alignment = 0;  ///< loads and stores: guaranteed byte alignment, 0 = the element's own
  std::vector<ValueId> operands;
  std::vector<ValueId>
      results;  ///< one for most; the carried values for `for_loop`, the yields for `if_else`
  std::vector<std::int32_t> indices;  ///< `shuffle`
  std::vector<Block> blocks;          ///< `for_loop`: 1, `if_else`: 2
  std::string note;                   ///< printed as a comment beside the instruction
};

/// A straight run of instructions, ended by `yield` when it belongs to a `for_loop` or an `if_else`.
struct Block {
  std::vector<ValueId> arguments;
  std::vector<Instruction> body;
};

enum class Access : std::uint8_t { read = 1, write = 2, read_write = 3 };

/// A buffer the kernel is given. Distinct buffer parameters never overlap unless all of them are only read.
struct BufferParameter {
  std::string name;
  ElementType element = ElementType::f32;
  Access access = Access::read;
};

/// A scalar given at run time. In the scalar block each lies at the next multiple of its own size, in order.
struct ScalarParameter {
  std::string name;
  ElementType element = ElementType::i32;
};

/// Workgroup-shared memory (on the cpu: per-task scratch), uninitialized at the start of each workgroup.
struct SharedArray {
  std::string name;
  ElementType element = ElementType::f32;
  std::uint32_t count = 0;
};

/// A whole kernel.
struct Program {
  std::string name;  ///< a C identifier; the kernel's entry point
  std::string note;  ///< a few lines for readers: what it computes and under which schedule
  std::uint32_t workgroup_size[3] = {1, 1, 1};
  std::uint32_t subgroup_size = 0;  ///< lanes per subgroup that the program relies on; 0 = it relies on none
  std::vector<BufferParameter> buffers;
  std::vector<ScalarParameter> scalars;
  std::vector<SharedArray> shared;
  std::vector<Type> values;  ///< type of every SSA value
  Block body;
};

/// Byte offset of each scalar parameter in the scalar block, and last the block's size (a multiple of 8, 0 if
/// empty).
std::vector<std::uint32_t> scalar_offsets(const Program& program);

/// Bytes of shared memory (cpu: scratch) that a workgroup takes, each array 64-byte aligned.
std::uint64_t shared_bytes(const Program& program);

}  // namespace halyard::program
