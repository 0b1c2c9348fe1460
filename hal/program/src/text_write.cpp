#include <fmt/format.h>
#include <halyard/base/half.h>
#include <halyard/program/op_facts.h>
#include <halyard/program/text.h>
#include <halyard/program/verify.h>
#include <bit>
#include <cmath>
#include <iterator>

namespace halyard::program {
namespace {

std::string element_name(ElementType element) {
  auto number = static_cast<std::size_t>(element);
  return number < element_type_facts.size() ? std::string(name(element)) : fmt::format("element{}", number);
}

/// One line whatever the text holds: a backslash begins an escape.
std::string escape(std::string_view text) {
  std::string out;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '\\')
      out += "\\\\";
    else if (c == '\n')
      out += "\\n";
    else if (byte < 0x20 || byte == 0x7f)
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    else
      out += c;
  }
  return out;
}

class Writer {
 public:
  explicit Writer(const Program& program) : program_(program) {}

  std::string whole() {
    header();
    out_ += "{\n";
    block(program_.body, 1);
    out_ += "}\n";
    return std::move(out_);
  }

  std::string one_line(const Instruction& instruction) {
    head(instruction);
    return std::move(out_);
  }

 private:
  template <class... Arguments>
  void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
  }

  void header() {
    if (!program_.note.empty()) {
      std::string_view rest = program_.note;
      for (std::size_t end = 0; end != std::string_view::npos;) {
        end = rest.find('\n');
        print("# {}\n", escape(rest.substr(0, end)));
        if (end != std::string_view::npos) rest.remove_prefix(end + 1);
      }
    }
    const std::uint32_t* size = program_.workgroup_size;
    print("kernel {} workgroup({}, {}, {}) subgroup({})\n", program_.name, size[0], size[1], size[2],
          program_.subgroup_size);
    for (const BufferParameter& buffer : program_.buffers) {
      const char* access = buffer.access == Access::read    ? "read"
                           : buffer.access == Access::write ? "write"
                                                            : "read_write";
      print("buffer {} : {} {}\n", buffer.name, element_name(buffer.element), access);
    }
    for (const ScalarParameter& scalar : program_.scalars)
      print("scalar {} : {}\n", scalar.name, element_name(scalar.element));
    for (const SharedArray& array : program_.shared)
      print("shared {} : {}[{}]\n", array.name, element_name(array.element), array.count);
    undefined_values();
  }

  /// Values that no instruction defines have no other place to tell their type.
  void undefined_values() {
    std::vector<bool> defined(program_.values.size(), false);
    mark_defined(program_.body, 0, defined);
    for (std::size_t i = 0; i < defined.size(); ++i)
      if (!defined[i]) print("undefined %{} : {}\n", i, to_text(program_.values[i]));
  }

  static void mark_defined(const Block& block, std::uint32_t depth, std::vector<bool>& defined) {
    if (depth > Limits::block_depth) return;
    auto mark = [&](const std::vector<ValueId>& values) {
      for (ValueId value : values)
        if (index(value) < defined.size()) defined[index(value)] = true;
    };
    mark(block.arguments);
    for (const Instruction& instruction : block.body) {
      mark(instruction.results);
      for (const Block& inner : instruction.blocks) mark_defined(inner, depth + 1, defined);
    }
  }

  void block(const Block& block, std::uint32_t depth) {
    std::string indent(2 * depth, ' ');
    if (depth > Limits::block_depth) {
      print("{}...\n", indent);
      return;
    }
    for (const Instruction& instruction : block.body) {
      if (instruction.op == Op::comment) {
        print("{}# {}\n", indent, escape(instruction.note));
        continue;
      }
      out_ += indent;
      head(instruction);
      for (std::size_t i = 0; i < instruction.blocks.size(); ++i) {
        out_ += i == 0 ? " {" : indent + "} else {";
        if (i == 0) note(instruction);
        out_ += '\n';
        this->block(instruction.blocks[i], depth + 1);
      }
      if (!instruction.blocks.empty())
        out_ += indent + "}";
      else
        note(instruction);
      out_ += '\n';
    }
  }

  void note(const Instruction& instruction) {
    if (!instruction.note.empty()) print("  # {}", escape(instruction.note));
  }

  std::string typed(ValueId value) {
    return index(value) < program_.values.size()
               ? fmt::format("%{} : {}", index(value), to_text(program_.values[index(value)]))
               : fmt::format("%{} : ?", index(value));
  }

  void operands(const Instruction& instruction, std::size_t first = 0) {
    for (std::size_t i = first; i < instruction.operands.size(); ++i)
      print("{}%{}", i == first ? " " : ", ", index(instruction.operands[i]));
  }

  /// Everything of an instruction but its blocks and its note.
  void head(const Instruction& instruction) {
    for (std::size_t i = 0; i < instruction.results.size(); ++i)
      print("{}{}", i ? ", " : "", typed(instruction.results[i]));
    if (!instruction.results.empty()) out_ += " = ";
    print("{}", name(instruction.op));
    switch (instruction.op) {
      case Op::constant:
        constant(instruction);
        break;
      case Op::iota:
        print(" {}", instruction.immediate);
        break;
      case Op::parameter:
        if (instruction.immediate < program_.scalars.size())
          print(" {}", program_.scalars[instruction.immediate].name);
        else
          print(" #{}", instruction.immediate);
        break;
      case Op::builtin:
        print(" {}", name(static_cast<Builtin>(instruction.immediate > 255 ? 255 : instruction.immediate)));
        break;
      case Op::barrier:
        print(" {}", name(static_cast<Scope>(instruction.immediate > 255 ? 255 : instruction.immediate)));
        break;
      case Op::extract:
      case Op::insert:
      case Op::broadcast_lane:
        operands(instruction);
        print(" lane {}", instruction.immediate);
        break;
      case Op::shuffle_xor:
        operands(instruction);
        print(" xor {}", instruction.immediate);
        break;
      case Op::shuffle:
        operands(instruction);
        print(" [{}]", fmt::join(instruction.indices, ", "));
        break;
      case Op::load:
      case Op::store:
      case Op::gather:
      case Op::scatter:
      case Op::prefetch:
        memory(instruction);
        break;
      case Op::for_loop:
        loop(instruction);
        break;
      default:
        operands(instruction);
        break;
    }
  }

  void constant(const Instruction& instruction) {
    std::uint64_t bits = instruction.immediate;
    print(" {:#x}", bits);
    switch (instruction.type.element) {
      case ElementType::boolean:
        print(" ({})", bits ? "true" : "false");
        break;
      case ElementType::f16:
        print(" ({})", float_from_f16(static_cast<std::uint16_t>(bits)));
        break;
      case ElementType::bf16:
        print(" ({})", float_from_bf16(static_cast<std::uint16_t>(bits)));
        break;
      case ElementType::f32:
        print(" ({})", std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
        break;
      case ElementType::f64:
        print(" ({})", std::bit_cast<double>(bits));
        break;
      case ElementType::i8:
        print(" ({})", static_cast<std::int8_t>(bits));
        break;
      case ElementType::i16:
        print(" ({})", static_cast<std::int16_t>(bits));
        break;
      case ElementType::i32:
        print(" ({})", static_cast<std::int32_t>(bits));
        break;
      case ElementType::i64:
        print(" ({})", static_cast<std::int64_t>(bits));
        break;
      default:
        print(" ({})", bits);
        break;
    }
  }

  void memory(const Instruction& instruction) {
    const MemoryRef& memory = instruction.memory;
    bool is_buffer = memory.space == MemoryRef::Space::buffer;
    std::size_t count = is_buffer ? program_.buffers.size() : program_.shared.size();
    std::string object = memory.index >= count ? fmt::format("?{}", memory.index)
                         : is_buffer           ? program_.buffers[memory.index].name
                                               : program_.shared[memory.index].name;
    bool writes = instruction.op == Op::store || instruction.op == Op::scatter;
    std::size_t plain = writes ? 2 : 1;
    auto operand = [&](std::size_t i) {
      return i < instruction.operands.size() ? fmt::format("%{}", index(instruction.operands[i])) : "?";
    };
    print(" {}[{}]", object, operand(0));
    if (writes) print(", {} : {}", operand(1), to_text(instruction.type));
    if (instruction.operands.size() > plain) print(" mask {}", operand(plain));
    if (instruction.alignment) print(" align {}", instruction.alignment);
  }

  void loop(const Instruction& instruction) {
    auto operand = [&](std::size_t i) {
      return i < instruction.operands.size() ? fmt::format("%{}", index(instruction.operands[i])) : "?";
    };
    static const Block no_block;
    const Block& body = instruction.blocks.empty() ? no_block : instruction.blocks[0];
    std::string induction = body.arguments.empty() ? "?" : typed(body.arguments[0]);
    print(" {} = {} to {} step {}", induction, operand(0), operand(1), operand(2));
    if (body.arguments.size() > 1) {
      out_ += " carry (";
      for (std::size_t i = 1; i < body.arguments.size(); ++i)
        print("{}{} = {}", i > 1 ? ", " : "", typed(body.arguments[i]), operand(i + 2));
      out_ += ")";
    }
    if (instruction.immediate) print(" unroll {}", instruction.immediate);
  }

  const Program& program_;
  std::string out_;
};

}  // namespace

std::string to_text(Type type) {
  return type.lanes == 1 ? element_name(type.element)
                         : fmt::format("{}x{}", element_name(type.element), type.lanes);
}

std::string to_text(const Program& program) {
  return Writer(program).whole();
}

std::string to_text(const Program& program, const Instruction& instruction) {
  return Writer(program).one_line(instruction);
}

}  // namespace halyard::program
