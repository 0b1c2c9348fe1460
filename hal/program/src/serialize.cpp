#define XXH_INLINE_ALL
#include <xxhash.h>

#include <fmt/format.h>
#include <halyard/program/serialize.h>
#include <halyard/program/verify.h>
#include <algorithm>
#include <cstring>

namespace halyard::program {
namespace {

constexpr std::size_t header_bytes = 24;
constexpr unsigned char magic[4] = {'H', 'y', 'T', 'P'};

enum Present : std::uint8_t {
  has_type = 1,
  has_immediate = 2,
  has_memory = 4,
  has_alignment = 8,
  has_operands = 16,
  has_results = 32,
  has_indices = 64,
  has_blocks_or_note = 128,
};

class Encoder {
 public:
  std::vector<std::byte> whole(const Program& program) {
    bytes_.resize(header_bytes);
    text(program.name);
    text(program.note);
    for (std::uint32_t size : program.workgroup_size) number(size);
    number(program.subgroup_size);
    list(program.buffers, [&](const BufferParameter& buffer) {
      text(buffer.name);
      byte(static_cast<std::uint8_t>(buffer.element));
      byte(static_cast<std::uint8_t>(buffer.access));
    });
    list(program.scalars, [&](const ScalarParameter& scalar) {
      text(scalar.name);
      byte(static_cast<std::uint8_t>(scalar.element));
    });
    list(program.shared, [&](const SharedArray& array) {
      text(array.name);
      byte(static_cast<std::uint8_t>(array.element));
      number(array.count);
    });
    list(program.values, [&](Type t) { type(t); });
    block(program.body);
    header();
    return std::move(bytes_);
  }

 private:
  void byte(std::uint8_t value) { bytes_.push_back(std::byte{value}); }

  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80));
    byte(static_cast<std::uint8_t>(value));
  }

  void text(const std::string& value) {
    number(value.size());
    for (char c : value) byte(static_cast<std::uint8_t>(c));
  }

  template <class Entries, class Each>
  void list(const Entries& entries, Each each) {
    number(entries.size());
    for (const auto& entry : entries) each(entry);
  }

  void type(Type value) {
    byte(static_cast<std::uint8_t>(value.element));
    number(value.lanes);
  }

  void ids(const std::vector<ValueId>& values) {
    list(values, [&](ValueId value) { number(index(value)); });
  }

  void block(const Block& block) {
    ids(block.arguments);
    list(block.body, [&](const Instruction& entry) { instruction(entry); });
  }

  void instruction(const Instruction& value) {
    unsigned present = 0;
    if (value.type != Type{}) present |= has_type;
    if (value.immediate) present |= has_immediate;
    if (value.memory != MemoryRef{}) present |= has_memory;
    if (value.alignment) present |= has_alignment;
    if (!value.operands.empty()) present |= has_operands;
    if (!value.results.empty()) present |= has_results;
    if (!value.indices.empty()) present |= has_indices;
    if (!value.blocks.empty() || !value.note.empty()) present |= has_blocks_or_note;
    number(static_cast<std::uint64_t>(value.op));
    byte(static_cast<std::uint8_t>(present));
    if (present & has_type) type(value.type);
    if (present & has_immediate) number(value.immediate);
    if (present & has_memory) {
      byte(static_cast<std::uint8_t>(value.memory.space));
      number(value.memory.index);
    }
    if (present & has_alignment) number(value.alignment);
    if (present & has_operands) ids(value.operands);
    if (present & has_results) ids(value.results);
    if (present & has_indices)
      list(value.indices, [&](std::int32_t lane) { number(static_cast<std::uint32_t>(lane)); });
    if (present & has_blocks_or_note) {
      list(value.blocks, [&](const Block& nested) { block(nested); });
      text(value.note);
    }
  }

  void put(std::size_t offset, std::uint64_t value, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) bytes_[offset + i] = static_cast<std::byte>(value >> (8 * i));
  }

  void header() {
    std::memcpy(bytes_.data(), magic, sizeof magic);
    put(4, thread_program_version, 2);
    put(8, bytes_.size() - header_bytes, 8);
    put(16, XXH64(bytes_.data() + header_bytes, bytes_.size() - header_bytes, 0), 8);
  }

  std::vector<std::byte> bytes_;
};

/// Every `bool` member gives false once anything was wrong; then `fault_` says what.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> payload) : bytes_(payload) {}

  Result<Program> whole() {
    Program program;
    if (!read(program)) return fail(ErrorCode::corrupt_data, "deserialize thread program: " + fault_);
    return program;
  }

 private:
  bool refuse(std::string_view what) {
    fault_ = fmt::format("byte {} of the payload: {}", position_, what);
    return false;
  }

  std::size_t left() const { return bytes_.size() - position_; }

  bool byte(std::uint8_t& out) {
    if (left() == 0) return refuse("ends too early");
    out = static_cast<std::uint8_t>(bytes_[position_++]);
    return true;
  }

  template <class Number>
  bool number(Number& out) {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      std::uint8_t next = 0;
      if (!byte(next)) return false;
      if (shift == 63 && next > 1) return refuse("a number exceeds 64 bits");
      value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
      if (!(next & 0x80)) break;
    }
    out = static_cast<Number>(value);
    return static_cast<std::uint64_t>(out) == value || refuse("a number exceeds its field");
  }

  bool text(std::string& out) {
    std::uint64_t size = 0;
    if (!number(size)) return false;
    if (size > left()) return refuse("a text is longer than the rest");
    out.assign(reinterpret_cast<const char*>(bytes_.data() + position_), size);
    position_ += size;
    return true;
  }

  /// Entries take at least `least` bytes each, which bounds what a false count can make us allocate.
  template <class Entries, class Each>
  bool list(Entries& entries, std::size_t least, Each each) {
    std::uint64_t count = 0;
    if (!number(count)) return false;
    if (count > left() / least) return refuse("a list is longer than the rest");
    for (std::uint64_t i = 0; i < count; ++i)
      if (!each(entries.emplace_back())) return false;
    return true;
  }

  bool element(ElementType& out) {
    std::uint8_t value = 0;
    if (!byte(value)) return false;
    if (value >= element_type_facts.size()) return refuse("no such element type");
    out = static_cast<ElementType>(value);
    return true;
  }

  bool type(Type& out) { return element(out.element) && number(out.lanes); }

  bool ids(std::vector<ValueId>& out) {
    return list(out, 1, [&](ValueId& value) {
      std::uint32_t id = 0;
      if (!number(id)) return false;
      value = ValueId{id};
      return true;
    });
  }

  bool read(Program& program) {
    bool good = text(program.name) && text(program.note) && number(program.workgroup_size[0]) &&
                number(program.workgroup_size[1]) && number(program.workgroup_size[2]) &&
                number(program.subgroup_size) && list(program.buffers, 3, [&](BufferParameter& buffer) {
                  std::uint8_t access = 0;
                  if (!text(buffer.name) || !element(buffer.element) || !byte(access)) return false;
                  buffer.access = static_cast<Access>(access);
                  return true;
                });
    good = good && list(program.scalars, 2, [&](ScalarParameter& scalar) {
             return text(scalar.name) && element(scalar.element);
           });
    good = good && list(program.shared, 3, [&](SharedArray& array) {
             return text(array.name) && element(array.element) && number(array.count);
           });
    good = good && list(program.values, 2, [&](Type& value) { return type(value); });
    good = good && block(program.body, 0);
    return good && (left() == 0 || refuse("bytes follow the program"));
  }

  bool block(Block& out, std::uint32_t depth) {
    if (depth > Limits::block_depth) return refuse("blocks are nested too deeply");
    return ids(out.arguments) &&
           list(out.body, 2, [&](Instruction& value) { return instruction(value, depth); });
  }

  bool instruction(Instruction& out, std::uint32_t depth) {
    if (++instructions_ > Limits::instructions) return refuse("too many instructions");
    std::uint16_t op = 0;
    std::uint8_t present = 0;
    if (!number(op) || !byte(present)) return false;
    out.op = static_cast<Op>(op);
    if ((present & has_type) && !type(out.type)) return false;
    if ((present & has_immediate) && !number(out.immediate)) return false;
    if (present & has_memory) {
      std::uint8_t space = 0;
      if (!byte(space) || !number(out.memory.index)) return false;
      out.memory.space = static_cast<MemoryRef::Space>(space);
    }
    if ((present & has_alignment) && !number(out.alignment)) return false;
    if ((present & has_operands) && !ids(out.operands)) return false;
    if ((present & has_results) && !ids(out.results)) return false;
    if ((present & has_indices) && !list(out.indices, 1, [&](std::int32_t& lane) {
          std::uint32_t bits = 0;
          if (!number(bits)) return false;
          lane = static_cast<std::int32_t>(bits);
          return true;
        }))
      return false;
    if (!(present & has_blocks_or_note)) return true;
    return list(out.blocks, 2, [&](Block& nested) { return block(nested, depth + 1); }) && text(out.note);
  }

  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  std::uint32_t instructions_ = 0;
  std::string fault_;
};

std::uint64_t get(std::span<const std::byte> bytes, std::size_t offset, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value |= static_cast<std::uint64_t>(bytes[offset + i]) << (8 * i);
  return value;
}

}  // namespace

std::vector<std::byte> serialize(const Program& program) {
  return Encoder().whole(program);
}

Result<Program> deserialize(std::span<const std::byte> bytes) {
  auto corrupt = [](std::string_view what) {
    return fail(ErrorCode::corrupt_data, fmt::format("deserialize thread program: {}", what));
  };
  if (bytes.size() < header_bytes) return corrupt(fmt::format("{} bytes cannot hold a header", bytes.size()));
  if (std::memcmp(bytes.data(), magic, sizeof magic) != 0) return corrupt("does not begin with \"HyTP\"");
  if (std::uint64_t version = get(bytes, 4, 2); version != thread_program_version) {
    if (version > thread_program_version)
      return fail(
          ErrorCode::unsupported,
          fmt::format("deserialize thread program: format version {} is newer than {}, the newest that "
                      "this build reads: update this backend",
                      version, thread_program_version));
    return corrupt("version 0 does not exist");
  }
  auto payload = bytes.subspan(header_bytes);
  if (get(bytes, 6, 2) != 0) return corrupt("reserved bytes are not zero");
  if (get(bytes, 8, 8) != payload.size())
    return corrupt(fmt::format("the header tells of {} payload bytes but {} are there", get(bytes, 8, 8),
                               payload.size()));
  if (XXH64(payload.data(), payload.size(), 0) != get(bytes, 16, 8))
    return corrupt("the checksum does not match");
  HALYARD_ASSIGN(Program program, Decoder(payload).whole());
  if (Status status = verify(program); !status) return corrupt(status.error().message);
  return program;
}

}  // namespace halyard::program
