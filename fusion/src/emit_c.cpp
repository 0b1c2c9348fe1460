#include <halyard/fusion/emit_c.h>
#include <halyard/program/op_facts.h>
#include <algorithm>
#include <array>

#include "c_printer.h"
#include "emit_llvm_index.h"

namespace halyard::fusion {
namespace {

using program::Builtin;
using program::Op;

/// Words of C++ and names that the printed code or the compilers use; a parameter so named gets an
/// underscore.
constexpr std::string_view reserved_words[] = {
    "alignas",  "alignof",   "and",      "asm",      "auto",    "bool",      "break",         "case",
    "catch",    "char",      "class",    "compl",    "const",   "constexpr", "continue",      "decltype",
    "default",  "delete",    "do",       "double",   "else",    "enum",      "explicit",      "export",
    "extern",   "false",     "float",    "for",      "friend",  "goto",      "half",          "if",
    "inline",   "int",       "long",     "main",     "mutable", "namespace", "new",           "noexcept",
    "not",      "nullptr",   "operator", "or",       "private", "protected", "public",        "register",
    "restrict", "return",    "short",    "signed",   "sizeof",  "static",    "struct",        "switch",
    "template", "this",      "throw",    "true",     "try",     "typedef",   "typeid",        "typename",
    "typeof",   "union",     "unsigned", "using",    "virtual", "void",      "volatile",      "while",
    "xor",      "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize",  "subgroup_mask", "sqrt",
    "sqrtf",    "floor",     "floorf",   "ceil",     "ceilf",   "trunc",     "truncf",        "rint",
    "rintf",    "fabs",      "fabsf"};

/// float4, uchar2 and their like.
bool is_vector_type(std::string_view name) {
  if (name.size() < 2 || name.back() < '1' || name.back() > '4') return false;
  name.remove_suffix(1);
  if (name.starts_with('u')) name.remove_prefix(1);
  constexpr std::string_view bases[] = {"char", "short", "int", "long", "longlong", "float", "double", "dim"};
  return std::find(std::begin(bases), std::end(bases), name) != std::end(bases);
}

bool is_reserved(std::string_view name) {
  if (name.starts_with("__") || name.starts_with("hy_")) return true;
  if (name.size() > 1 && name[0] == 'v' && name[1] >= '0' && name[1] <= '9') return true;
  return is_vector_type(name) ||
         std::find(std::begin(reserved_words), std::end(reserved_words), name) != std::end(reserved_words);
}

std::string_view c_builtin(Builtin which) {
  switch (which) {
    case Builtin::workgroup_x:
      return "(int)blockIdx.x";
    case Builtin::workgroup_y:
      return "(int)blockIdx.y";
    case Builtin::workgroup_z:
      return "(int)blockIdx.z";
    case Builtin::grid_x:
      return "(int)gridDim.x";
    case Builtin::grid_y:
      return "(int)gridDim.y";
    case Builtin::grid_z:
      return "(int)gridDim.z";
    default:
      return "";
  }
}

}  // namespace

std::string_view c_type(ElementType element) {
  constexpr std::array<std::string_view, 13> names{"bool",
                                                   "signed char",
                                                   "short",
                                                   "int",
                                                   "long long",
                                                   "unsigned char",
                                                   "unsigned short",
                                                   "unsigned",
                                                   "unsigned long long",
                                                   "unsigned short",
                                                   "unsigned short",
                                                   "float",
                                                   "double"};
  return names[static_cast<std::size_t>(element)];
}

std::string_view c_storage_type(ElementType element) {
  return element == ElementType::boolean ? "unsigned char" : c_type(element);
}

std::string c_vector_type(ElementType element, std::uint32_t lanes) {
  constexpr std::array<std::string_view, 13> names{
      "uchar", "char", "short", "int", "", "uchar", "ushort", "uint", "", "ushort", "ushort", "float", ""};
  std::string_view base = names[static_cast<std::size_t>(element)];
  if (lanes == 2 && element == ElementType::i64) return "longlong2";
  if (lanes == 2 && element == ElementType::u64) return "ulonglong2";
  if (lanes == 2 && element == ElementType::f64) return "double2";
  if (base.empty() || (lanes != 2 && lanes != 4)) return "";
  return fmt::format("{}{}", base, lanes);
}

CPrinter::CPrinter(const program::Program& program, const COptions& options)
    : program_(program),
      options_(options),
      dialect_(c_dialect(options.language)),
      lanes_(program.values.size()),
      is_index_(index_arithmetic(program)) {}

Status CPrinter::check() const {
  if (is_reserved(program_.name))
    return fail(ErrorCode::unsupported,
                fmt::format("emit_c `{}`: the kernel's name has a meaning in {}: rename it", program_.name,
                            dialect_.title));
  if (program_.subgroup_size > options_.subgroup_size)
    return fail(ErrorCode::unsupported,
                fmt::format("emit_c `{}`: it relies on subgroups of {} lanes; the device has {}",
                            program_.name, program_.subgroup_size, options_.subgroup_size));
  return {};
}

std::string CPrinter::fresh_name(std::string_view wanted) {
  std::string name = is_reserved(wanted) ? "p_" + std::string(wanted) : std::string(wanted);
  while (!taken_.insert(name).second) name += '_';
  return name;
}

void CPrinter::choose_names() {
  taken_.insert(program_.name);
  for (std::uint32_t i = 0; i < program::builtin_count; ++i)
    taken_.insert(std::string(program::name(static_cast<Builtin>(i))));
  for (const auto& buffer : program_.buffers) buffer_names_.push_back(fresh_name(buffer.name));
  for (const auto& scalar : program_.scalars) scalar_names_.push_back(fresh_name(scalar.name));
  for (const auto& array : program_.shared) shared_names_.push_back(fresh_name(array.name));
}

void CPrinter::find_builtins(const program::Block& block) {
  for (const program::Instruction& instruction : block.body) {
    if (instruction.op == Op::builtin) builtins_ |= 1u << instruction.immediate;
    for (const program::Block& nested : instruction.blocks) find_builtins(nested);
  }
}

/// Where this lane stands. Printed after the body, when it is known what the body asks for.
void CPrinter::indices() {
  auto reads = [&](Builtin which) { return (builtins_ >> static_cast<unsigned>(which) & 1u) != 0; };
  const std::uint32_t* size = program_.workgroup_size;
  bool subgroups = reads(Builtin::subgroup) || reads(Builtin::subgroup_lane) || needs_subgroup_mask_;
  if (reads(Builtin::lane) || subgroups) {
    std::string lane = "(int)threadIdx.x";
    if (size[1] > 1 || size[2] > 1) lane = fmt::format("(int)(threadIdx.x + {} * threadIdx.y)", size[0]);
    if (size[2] > 1)
      lane = fmt::format("(int)(threadIdx.x + {} * (threadIdx.y + {} * threadIdx.z))", size[0], size[1]);
    line("const int lane = {};", lane);
  }
  if (reads(Builtin::subgroup_lane)) line("const int subgroup_lane = lane & {};", program_.subgroup_size - 1);
  if (reads(Builtin::subgroup)) line("const int subgroup = lane / {};", program_.subgroup_size);
  for (std::uint32_t i = 0; i <= static_cast<std::uint32_t>(Builtin::grid_z); ++i)
    if (auto which = static_cast<Builtin>(i); reads(which))
      line("const int {} = {};", program::name(which), c_builtin(which));
  if (needs_subgroup_mask_ && !dialect_.subgroup_mask.empty())
    line("{}", fmt::format(fmt::runtime(dialect_.subgroup_mask), program_.subgroup_size));
}

std::string CPrinter::signature() const {
  const std::uint32_t* size = program_.workgroup_size;
  std::string text = fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}(",
                                 size[0] * size[1] * size[2], program_.name);
  std::string_view separator = "\n    ";
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    const auto& buffer = program_.buffers[i];
    text += fmt::format("{}{}{}* __restrict__ {}", separator,
                        buffer.access == program::Access::read ? "const " : "",
                        c_storage_type(buffer.element), buffer_names_[i]);
    separator = ",\n    ";
  }
  for (std::size_t i = 0; i < program_.scalars.size(); ++i) {
    text += fmt::format("{}const {} {}", separator, c_storage_type(program_.scalars[i].element),
                        scalar_names_[i]);
    separator = ",\n    ";
  }
  return text + ") {\n";
}

std::string CPrinter::prelude() const {
  std::string text(dialect_.file_head);
  if (needs_f16_) text += dialect_.f16_functions;
  if (needs_bf16_ || needs_bf16_fma_) text += dialect_.bf16_functions;
  if (needs_odd_ || needs_bf16_fma_) text += c_odd_functions;
  if (needs_bf16_fma_) text += c_bf16_fma_function;
  if (!text.empty()) text += '\n';
  return text;
}

/// A comment runs to the end of its line: what would continue the line, or hide in it, is replaced.
void CPrinter::comment(std::string_view text) {
  while (!text.empty()) {
    std::size_t end = std::min(text.find('\n'), text.size());
    std::string clean(text.substr(0, end));
    for (char& c : clean)
      if (static_cast<unsigned char>(c) < 0x20 || c == '\\' || c == 0x7f) c = ' ';
    while (!clean.empty() && clean.back() == ' ') clean.pop_back();
    line("// {}", clean);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

Result<std::string> CPrinter::whole() {
  HALYARD_TRY(check());
  choose_names();
  find_builtins(program_.body);
  block(program_.body);
  std::string body = std::move(out_);

  out_.clear();
  depth_ = 0;
  line("// {} for {}.", program_.name, dialect_.title);
  comment(program_.note);
  std::string text = std::move(out_) + prelude() + signature();

  out_.clear();
  depth_ = 1;
  for (std::size_t i = 0; i < program_.shared.size(); ++i) {
    const auto& array = program_.shared[i];
    line("__shared__ __attribute__((aligned(16))) {} {}[{}];", c_storage_type(array.element),
         shared_names_[i], array.count);
  }
  indices();
  return text + out_ + body + "}\n";
}

Result<std::string> emit_c(const program::Program& program, const COptions& options) {
  return CPrinter(program, options).whole();
}

}  // namespace halyard::fusion
