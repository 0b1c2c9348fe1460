#pragma once

#include "spirv_module.h"

#include <halyard/fusion/emit_spirv.h>
#include <array>
#include <functional>
#include <optional>

#include <spirv/unified1/GLSL.std.450.h>

namespace halyard::fusion::spirv {

/// Prints one legalized program into a `Module`. A value of n lanes is held as parts: SPIR-V vectors of
/// min(n, 4) components (a scalar for one). One object emits one program.
class Emitter {
 public:
  Emitter(const program::Program& program, const SpirvOptions& options)
      : program_(program), options_(options), values_(program.values.size()) {}

  Result<Words> run();

 private:
  using Parts = std::vector<Id>;

  /// How an array of memory is laid out and addressed.
  struct MemoryLayout {
    ElementType element = ElementType::u32;
    std::uint32_t bytes = 4;       ///< of one element as stored
    bool in_words = false;         ///< elements narrower than a word without the storage type: packed in u32
    std::uint32_t unit_bytes = 4;  ///< of what the SPIR-V array holds: `bytes`, or 4 if `in_words`
    Id unit_type = 0;
  };
  /// A place in memory, counted in elements or vectors; 64 bits wide only where that is of use.
  struct Index {
    Id id = 0;
    bool wide = false;
  };
  /// A variable (or pointer type) that sees a buffer as an array of vectors.
  struct View {
    Id variable = 0;
    Id pointer_type = 0;        ///< to one vector
    Id block_pointer_type = 0;  ///< device addresses: to the whole block
    Id read_as = 0;             ///< what the array holds where that is not the vector but its bits in pairs
  };

  // ---- interface (emit_spirv.cpp)
  Status check() const;
  void declare_float_controls();
  void declare_scalars();
  Id builtin_variable(spv::BuiltIn which, Id type);
  Id builtin_value(program::Builtin which);
  Parts parameter(const program::Instruction& instruction);
  void finish_views();

  // ---- types and constants
  Id element_type(ElementType element);
  Id part_type(program::Type type) { return vector_of(element_type(type.element), part_lanes(type)); }
  Id vector_of(Id component, std::uint32_t lanes) { return module_.type_vector(component, lanes); }
  static std::uint32_t part_lanes(program::Type type) { return type.lanes < 4 ? type.lanes : 4u; }
  static std::uint32_t part_count(program::Type type) { return type.lanes / part_lanes(type); }
  Id scalar_constant(ElementType element, std::uint64_t bits);
  /// One part with the same bits in each lane.
  Id part_constant(program::Type type, std::uint64_t bits);
  Id word(std::uint32_t value) { return module_.constant_u32(value); }

  // ---- code
  Id emit(spv::Op op, Id type, std::span<const Id> operands);
  Id emit(spv::Op op, Id type, std::initializer_list<Id> operands) {
    return emit(op, type, std::span(operands.begin(), operands.size()));
  }
  /// As `emit`, decorated NoContraction.
  Id emit_float(spv::Op op, Id type, std::initializer_list<Id> operands);
  Id emit_extended(GLSLstd450 instruction, Id type, std::initializer_list<Id> operands, bool is_float);
  void begin_block(Id label);
  void branch(Id target) { module_.append(spv::OpBranch, {target}); }
  /// Runs `body` where `condition` holds. `types` and its results are merged with zeros for the other way.
  Parts guarded(Id condition, std::span<const Id> types, const std::function<Parts()>& body);

  Status block(const program::Block& block, Parts* yielded);
  Status instruction(const program::Instruction& instruction);
  Status for_loop(const program::Instruction& loop);
  void name_loop(Id header, const program::Instruction& loop);
  Status if_else(const program::Instruction& instruction);
  Status if_then(const program::Instruction& instruction);
  static bool only_yields(const program::Block& block);
  /// Joins the two arms' results; `last`: the block that each arm ends in.
  void merge_results(const program::Instruction& instruction, const Parts (&results)[2],
                     std::array<Id, 2> last);
  void barrier(program::Scope scope);

  // ---- lane-wise (emit_spirv_arithmetic.cpp)
  Parts lane_wise(const program::Instruction& instruction);
  Id arithmetic_part(program::Op op, program::Type type, std::span<const Id> operands);
  Id rounded_magnitude(program::Type type, Id x);
  Id truncated_magnitude(program::Type type, Id x);
  Id with_sign_of(program::Type type, Id rounded, Id x);
  Id float_part(program::Op op, Id type, std::span<const Id> operands);
  Id integer_part(program::Op op, program::Type type, std::span<const Id> operands);
  Id boolean_part(program::Op op, Id type, std::span<const Id> operands);
  Id compare_part(program::Op op, program::Type operand_type, std::span<const Id> operands);
  Id high_product(program::Type type, Id a, Id b);
  Id u32_to_f32(program::Type to, Id value);
  Id sign_extended(program::Type to, Id x);
  Id cast_part(program::Type from, program::Type to, Id value);
  Parts iota(const program::Instruction& instruction);

  // ---- vectors and lanes (emit_spirv_vectors.cpp)
  Id lane_of(const Parts& parts, program::Type type, std::uint32_t lane);
  Parts from_lanes(program::Type type, std::span<const Id> lanes);
  Parts splat(const program::Instruction& instruction);
  Parts shuffle(const program::Instruction& instruction);
  Parts insert(const program::Instruction& instruction);
  Parts bitcast(const program::Instruction& instruction);
  Parts subgroup_exchange(const program::Instruction& instruction);
  Id exchange_part(const program::Instruction& instruction, program::Type type, Id value);

  // ---- where memory lies (emit_spirv_addressing.cpp)
  ElementType memory_element(program::MemoryRef memory) const;
  bool can_store(ElementType element) const;
  MemoryLayout layout(program::MemoryRef memory);
  View& view(program::MemoryRef memory, std::uint32_t lanes);
  /// The vector of 64-bit integers as which `lanes` units are read, or 0.
  Id paired_type(program::MemoryRef memory, const MemoryLayout& layout, std::uint32_t lanes);
  void declare_shared();
  std::uint32_t shared_lanes(std::uint32_t number) const;
  Id base_address(std::uint32_t buffer, const View& view);
  /// Pointer to vector number `place` of `lanes` units.
  Id pointer(program::MemoryRef memory, std::uint32_t lanes, Index place);
  Id load_unit(program::MemoryRef memory, const MemoryLayout& layout, std::uint32_t lanes, Index place);
  void store_unit(program::MemoryRef memory, const MemoryLayout& layout, std::uint32_t lanes, Index place,
                  Id value);
  Index index_of(const program::Instruction& instruction, std::uint32_t lane);
  Id index_constant(Index like, std::uint32_t value);
  Index index_plus(Index place, std::uint32_t offset);
  Index index_shifted(Index place, std::uint32_t amount);

  // ---- loads and stores (emit_spirv_memory.cpp)
  std::uint32_t piece_lanes(const program::Instruction& instruction, const MemoryLayout& layout) const;
  Id from_storage(const MemoryLayout& layout, std::uint32_t lanes, Id value);
  Id to_storage(const MemoryLayout& layout, std::uint32_t lanes, Id value);
  Id load_element(program::MemoryRef memory, const MemoryLayout& layout, Index place);
  void store_element(program::MemoryRef memory, const MemoryLayout& layout, Index place, Id value);
  std::uint32_t elements_per_word(const program::Instruction& instruction, const MemoryLayout& layout) const;
  Parts load_consecutive(const program::Instruction& instruction);
  Parts load_words(const program::Instruction& instruction, const MemoryLayout& layout,
                   std::uint32_t per_word);
  void store_consecutive(const program::Instruction& instruction);
  void store_words(const program::Instruction& instruction, const MemoryLayout& layout,
                   std::uint32_t per_word);
  Id masked_element(program::MemoryRef memory, const MemoryLayout& layout, Index place, Id mask);
  Id all_of(const Parts& mask, program::Type type);
  Parts load(const program::Instruction& instruction);
  Parts masked_load(const program::Instruction& instruction, program::ValueId mask);
  Parts gather(const program::Instruction& instruction);
  void store(const program::Instruction& instruction);
  void masked_store(const program::Instruction& instruction, program::ValueId mask);
  void scatter(const program::Instruction& instruction);

  const Parts& parts(program::ValueId value) const { return values_[index(value)]; }
  program::Type type_of(program::ValueId value) const { return program_.values[index(value)]; }
  void define(const program::Instruction& instruction, Parts parts);
  bool uses_physical_addresses() const { return options_.binding == SpirvBinding::device_addresses; }

  const program::Program& program_;
  SpirvOptions options_;
  Module module_;
  std::vector<Parts> values_;
  Id function_ = 0;
  Id current_block_ = 0;
  std::string pending_comment_;

  Id scalar_block_ = 0;
  spv::StorageClass scalar_storage_ = spv::StorageClassPushConstant;
  std::uint32_t first_scalar_member_ = 0;
  bool reads_coherently_ = false;  ///< lanes may exchange values through buffers
  std::map<spv::BuiltIn, Id> builtin_variables_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, View> buffer_views_;  ///< by buffer and vector lanes
  Id address_block_ = 0;
  struct Shared {
    Id variable = 0;
    Id pointer_type = 0;
    std::uint32_t lanes = 1;
  };
  std::vector<Shared> shared_;
  std::set<std::uint32_t> float_widths_;
};

}  // namespace halyard::fusion::spirv
