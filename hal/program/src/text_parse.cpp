#include <fmt/format.h>
#include <halyard/program/op_facts.h>
#include <halyard/program/text.h>
#include <halyard/program/verify.h>
#include <charconv>
#include <unordered_map>

namespace halyard::program {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// A recursive-descent reader over lines. Every `bool` member gives false after it set `error_`.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Program> whole() {
    if (!header() || !body()) return tl::unexpected<Error>(std::move(error_));
    return std::move(program_);
  }

 private:
  // ---- characters and words

  bool refuse(std::string_view message) {
    std::size_t line = 1;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < position_ && i < text_.size(); ++i)
      if (text_[i] == '\n') ++line, begin = i + 1;
    error_ = {ErrorCode::invalid_argument,
              fmt::format("parse_text: line {}, column {}: {}", line, position_ - begin + 1, message)};
    return false;
  }

  char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }

  void spaces() {
    while (peek() == ' ' || peek() == '\t') ++position_;
  }

  void blank_lines() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r') ++position_;
  }

  /// Takes `token` if it comes next.
  bool accept(std::string_view token) {
    spaces();
    if (text_.substr(position_, token.size()) != token) return false;
    std::size_t end = position_ + token.size();
    if (is_word(token.back()) && end < text_.size() && is_word(text_[end])) return false;
    position_ = end;
    return true;
  }

  bool expect(std::string_view token) { return accept(token) || refuse(fmt::format("expected `{}`", token)); }

  std::string_view word() {
    spaces();
    std::size_t begin = position_;
    while (is_word(peek())) ++position_;
    return text_.substr(begin, position_ - begin);
  }

  bool identifier(std::string& out) {
    out = word();
    return !out.empty() || refuse("expected a name");
  }

  template <class Number>
  bool number(Number& out) {
    spaces();
    const char* begin = text_.data() + position_;
    const char* end = text_.data() + text_.size();
    int base = 10;
    if (end - begin > 2 && begin[0] == '0' && begin[1] == 'x') base = 16, begin += 2;
    auto [stop, code] = std::from_chars(begin, end, out, base);
    if (code != std::errc{}) return refuse("expected a number that fits");
    position_ = static_cast<std::size_t>(stop - text_.data());
    return true;
  }

  bool value(ValueId& out) {
    std::uint32_t id = 0;
    if (!expect("%") || !number(id)) return false;
    if (id >= Limits::values)
      return refuse(fmt::format("%{} is beyond the most values a program may hold", id));
    out = ValueId{id};
    return true;
  }

  bool values(std::vector<ValueId>& out) {
    do {
      if (!value(out.emplace_back())) return false;
    } while (accept(","));
    return true;
  }

  bool type(Type& out) {
    std::string_view text = word();
    std::string_view element = text;
    std::uint16_t lanes = 1;
    if (std::size_t x = text.find('x'); x != std::string_view::npos) {
      element = text.substr(0, x);
      std::string_view count = text.substr(x + 1);
      auto [stop, code] = std::from_chars(count.data(), count.data() + count.size(), lanes);
      if (code != std::errc{} || stop != count.data() + count.size() || lanes < 2)
        return refuse(fmt::format("`{}` is not a type", text));
    }
    auto parsed = parse_element_type(element);
    if (!parsed) return refuse(fmt::format("`{}` is not a type", text));
    out = {*parsed, lanes};
    return true;
  }

  bool element(ElementType& out) {
    Type t;
    if (!type(t)) return false;
    out = t.element;
    return t.lanes == 1 || refuse("expected an element type, not a vector");
  }

  /// `%n : type`, where value n is defined.
  bool definition(ValueId& out) {
    Type t;
    if (!value(out) || !expect(":") || !type(t)) return false;
    std::uint32_t id = index(out);
    if (program_.values.size() <= id) program_.values.resize(id + 1), known_.resize(id + 1, false);
    if (known_[id]) return refuse(fmt::format("%{} is defined twice", id));
    known_[id] = true;
    program_.values[id] = t;
    return true;
  }

  /// The rest of a line after `#` and one space, unescaped.
  bool comment_text(std::string& out) {
    if (peek() == ' ') ++position_;
    while (position_ < text_.size() && peek() != '\n') {
      char c = text_[position_++];
      if (c != '\\') {
        out += c;
        continue;
      }
      char kind = peek();
      if (position_ < text_.size()) ++position_;
      unsigned byte = 0;
      if (kind == '\\' || kind == 'n') {
        out += kind == 'n' ? '\n' : '\\';
      } else if (kind == 'x' && position_ + 2 <= text_.size() &&
                 std::from_chars(text_.data() + position_, text_.data() + position_ + 2, byte, 16).ptr ==
                     text_.data() + position_ + 2) {
        out += static_cast<char>(byte);
        position_ += 2;
      } else {
        return refuse("an escape in a note is \\\\, \\n or \\xhh");
      }
    }
    return true;
  }

  /// An optional note, then the end of the line.
  bool line_end(std::string* note = nullptr) {
    if (note && accept("#") && !comment_text(*note)) return false;
    spaces();
    if (peek() == '\r') ++position_;
    if (position_ < text_.size() && peek() != '\n') return refuse("expected the end of the line");
    if (position_ < text_.size()) ++position_;
    return true;
  }

  // ---- the header

  bool header() {
    bool first = true;
    for (blank_lines(); accept("#"); blank_lines()) {
      if (!first) program_.note += '\n';
      first = false;
      if (!comment_text(program_.note)) return false;
    }
    std::uint32_t* size = program_.workgroup_size;
    if (!expect("kernel") || !identifier(program_.name) || !expect("workgroup") || !expect("(") ||
        !number(size[0]) || !expect(",") || !number(size[1]) || !expect(",") || !number(size[2]) ||
        !expect(")") || !expect("subgroup") || !expect("(") || !number(program_.subgroup_size) ||
        !expect(")") || !line_end())
      return false;
    for (blank_lines(); peek() != '{'; blank_lines())
      if (!declaration()) return false;
    return true;
  }

  bool declaration() {
    if (accept("buffer")) {
      BufferParameter buffer;
      if (!identifier(buffer.name) || !expect(":") || !element(buffer.element)) return false;
      if (accept("read"))
        buffer.access = Access::read;
      else if (accept("write"))
        buffer.access = Access::write;
      else if (accept("read_write"))
        buffer.access = Access::read_write;
      else
        return refuse("expected read, write or read_write");
      memory_.emplace(buffer.name, MemoryRef{MemoryRef::Space::buffer,
                                             static_cast<std::uint32_t>(program_.buffers.size())});
      program_.buffers.push_back(std::move(buffer));
    } else if (accept("scalar")) {
      ScalarParameter scalar;
      if (!identifier(scalar.name) || !expect(":") || !element(scalar.element)) return false;
      scalars_.emplace(scalar.name, program_.scalars.size());
      program_.scalars.push_back(std::move(scalar));
    } else if (accept("shared")) {
      SharedArray array;
      if (!identifier(array.name) || !expect(":") || !element(array.element) || !expect("[") ||
          !number(array.count) || !expect("]"))
        return false;
      memory_.emplace(array.name, MemoryRef{MemoryRef::Space::shared,
                                            static_cast<std::uint32_t>(program_.shared.size())});
      program_.shared.push_back(std::move(array));
    } else if (accept("undefined")) {
      ValueId ignored{};
      if (!definition(ignored)) return false;
    } else {
      return refuse("expected buffer, scalar, shared, undefined or `{`");
    }
    return line_end();
  }

  // ---- instructions

  bool body() {
    if (!expect("{") || !line_end() || !block(program_.body, 1) || !expect("}")) return false;
    blank_lines();
    if (position_ < text_.size()) return refuse("nothing may follow the closing brace");
    for (std::size_t i = 0; i < known_.size(); ++i)
      if (!known_[i]) return refuse(fmt::format("%{} has no definition", i));
    return true;
  }

  /// Instructions up to the closing brace, which stays.
  bool block(Block& out, std::uint32_t depth) {
    if (depth > Limits::block_depth + 1) return refuse("blocks are nested too deeply");
    for (;;) {
      blank_lines();
      if (peek() == '}') return true;
      if (position_ >= text_.size()) return refuse("a block lacks its closing brace");
      if (++instructions_ > Limits::instructions) return refuse("too many instructions");
      if (!instruction(out.body.emplace_back(), depth)) return false;
    }
  }

  bool instruction(Instruction& out, std::uint32_t depth) {
    if (accept("#")) return comment_text(out.note) && line_end();
    spaces();
    if (peek() == '%') {
      do {
        if (!definition(out.results.emplace_back())) return false;
      } while (accept(","));
      if (!expect("=")) return false;
    }
    std::string_view text = word();
    auto op = parse_op(text);
    if (!op || *op == Op::comment) return refuse(fmt::format("`{}` is no operation", text));
    out.op = *op;
    const OpFacts& facts = *find_facts(*op);
    if (facts.has_result != (out.results.size() == 1) && facts.kind != OpKind::control)
      return refuse(fmt::format("`{}` has {} result", text, facts.has_result ? "one" : "no"));
    if (facts.has_result) out.type = program_.values[index(out.results[0])];
    if (!details(out, facts)) return false;
    if (*op == Op::for_loop || *op == Op::if_else) return blocks(out, depth) && line_end();
    return line_end(&out.note);
  }

  bool blocks(Instruction& out, std::uint32_t depth) {
    if (!expect("{") || !line_end(&out.note)) return false;
    out.blocks.resize(out.op == Op::for_loop ? 1 : 2);
    if (out.op == Op::for_loop) out.blocks[0].arguments = std::move(arguments_);
    arguments_.clear();
    if (!block(out.blocks[0], depth + 1) || !expect("}")) return false;
    return out.op == Op::for_loop ||
           (expect("else") && expect("{") && line_end() && block(out.blocks[1], depth + 1) && expect("}"));
  }

  bool details(Instruction& out, const OpFacts& facts) {
    switch (out.op) {
      case Op::constant:
        if (!number(out.immediate)) return false;
        if (accept("(")) {
          while (peek() != ')' && peek() != '\n' && position_ < text_.size()) ++position_;
          return expect(")");
        }
        return true;
      case Op::iota:
        return number(out.immediate);
      case Op::parameter: {
        std::string name;
        if (!identifier(name)) return false;
        auto found = scalars_.find(name);
        if (found == scalars_.end()) return refuse(fmt::format("no scalar is named `{}`", name));
        out.immediate = found->second;
        return true;
      }
      case Op::builtin: {
        auto which = parse_builtin(word());
        if (!which) return refuse("expected a builtin's name");
        out.immediate = static_cast<std::uint64_t>(*which);
        return true;
      }
      case Op::barrier:
        if (accept("subgroup")) return true;
        out.immediate = static_cast<std::uint64_t>(Scope::workgroup);
        return expect("workgroup");
      case Op::extract:
      case Op::insert:
      case Op::broadcast_lane:
        return values(out.operands) && expect("lane") && number(out.immediate);
      case Op::shuffle_xor:
        return values(out.operands) && expect("xor") && number(out.immediate);
      case Op::shuffle:
        if (!values(out.operands) || !expect("[")) return false;
        do {
          if (!number(out.indices.emplace_back())) return false;
        } while (accept(","));
        return expect("]");
      case Op::for_loop:
        return loop(out);
      default:
        break;
    }
    if (facts.kind == OpKind::memory) return memory(out);
    spaces();
    return peek() != '%' || values(out.operands);
  }

  bool memory(Instruction& out) {
    std::string name;
    if (!identifier(name)) return false;
    auto found = memory_.find(name);
    if (found == memory_.end()) return refuse(fmt::format("no buffer or shared array is named `{}`", name));
    out.memory = found->second;
    if (!expect("[") || !value(out.operands.emplace_back()) || !expect("]")) return false;
    if (out.op == Op::store || out.op == Op::scatter) {
      if (!expect(",") || !value(out.operands.emplace_back()) || !expect(":") || !type(out.type))
        return false;
    } else if (out.op == Op::prefetch) {
      out.type = {out.memory.space == MemoryRef::Space::buffer ? program_.buffers[out.memory.index].element
                                                               : program_.shared[out.memory.index].element,
                  1};
    }
    if (accept("mask") && !value(out.operands.emplace_back())) return false;
    return !accept("align") || number(out.alignment);
  }

  bool loop(Instruction& out) {
    out.operands.resize(3);
    arguments_.clear();
    if (!definition(arguments_.emplace_back()) || !expect("=") || !value(out.operands[0]) || !expect("to") ||
        !value(out.operands[1]) || !expect("step") || !value(out.operands[2]))
      return false;
    if (accept("carry")) {
      if (!expect("(")) return false;
      do {
        if (!definition(arguments_.emplace_back()) || !expect("=") || !value(out.operands.emplace_back()))
          return false;
      } while (accept(","));
      if (!expect(")")) return false;
    }
    return !accept("unroll") || number(out.immediate);
  }

  std::string_view text_;
  std::size_t position_ = 0;
  Error error_;
  Program program_;
  std::vector<bool> known_;  // which values have a definition
  std::unordered_map<std::string, MemoryRef> memory_;
  std::unordered_map<std::string, std::uint64_t> scalars_;
  std::vector<ValueId> arguments_;  // of the loop whose head was read last
  std::uint32_t instructions_ = 0;
};

}  // namespace

Result<Program> parse_text(std::string_view text) {
  return Parser(text).whole();
}

}  // namespace halyard::program
