#include <fmt/format.h>
#include <halyard/fusion/emit_llvm.h>
#include <algorithm>
#include "emit_llvm_index.h"
#include "emit_llvm_printer.h"

namespace halyard::fusion {

using program::Access;
using program::Builtin;

LlvmOptions llvm_options(std::span<const std::string> isa_features, std::uint32_t vector_register_bytes) {
  auto has = [&](std::string_view feature) {
    return std::find(isa_features.begin(), isa_features.end(), feature) != isa_features.end();
  };
  return {.vector_register_bytes = std::max(vector_register_bytes, 16u),
          .has_fma = has("fma"),
          .has_half_conversion = has("f16c"),
          .has_rounding = has("sse4.1")};
}

Result<std::string> emit_llvm(const program::Program& program, const LlvmOptions& options) {
  const std::uint32_t* size = program.workgroup_size;
  if (size[0] != 1 || size[1] != 1 || size[2] != 1)
    return fail(
        ErrorCode::unsupported,
        fmt::format("emit_llvm: kernel {} has a workgroup of {}x{}x{} lanes; the cpu runs one lane per "
                    "workgroup: lower it with a one-lane schedule",
                    program.name, size[0], size[1], size[2]));
  return LlvmPrinter(program, options).print();
}

LlvmPrinter::LlvmPrinter(const program::Program& program, const LlvmOptions& options)
    : program_(program),
      options_(options),
      names_(program.values.size()),
      constants_(program.values.size()),
      is_index_(index_arithmetic(program)) {}

Result<std::string> LlvmPrinter::print() {
  bool valid_name = !program_.name.empty();
  for (char c : program_.name)
    valid_name = valid_name && (std::isalnum(static_cast<unsigned char>(c)) || c == '_');
  if (!valid_name)
    return fail(ErrorCode::invalid_argument,
                fmt::format("emit_llvm: \"{}\" is no name for a kernel: use a C identifier", program_.name));
  metadata_.push_back("!{!\"llvm.loop.vectorize.enable\", i1 false}");
  metadata_.push_back("!{!\"llvm.loop.unroll.disable\"}");
  print_note();
  print_entry();
  print_grid_function();
  for (const std::string& declaration : declarations_) text_ += declaration + "\n";
  text_ += "\n" + attributes() + "\n";
  for (std::size_t i = 0; i < metadata_.size(); ++i) text_ += fmt::format("!{} = {}\n", i, metadata_[i]);
  if (error_) return tl::unexpected<Error>(*error_);
  return std::move(text_);
}

void LlvmPrinter::print_note() {
  text_ += fmt::format("; kernel {}\n", program_.name);
  std::string_view rest = program_.note;
  while (!rest.empty()) {
    std::size_t end = std::min(rest.find('\n'), rest.size());
    line("", std::string(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

/// The ABI's entry point: unpacks HyCpuKernelArgs and hands over to the function that does the work. Only a
/// function's own parameters can be `noalias`, hence two functions.
void LlvmPrinter::print_entry() {
  text_ += fmt::format(
      "\n; args: HyCpuKernelArgs = buffers, scalars, scratch, begin, end, grid[3]\n"
      "define void @{}(ptr noalias nocapture readonly %args) #0 {{\n",
      program_.name);
  line("%buffers = load ptr, ptr %args, align 8");
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    line(fmt::format("%buffer{0}.slot = getelementptr inbounds ptr, ptr %buffers, i64 {0}", i));
    line(fmt::format("%buffer{0} = load ptr, ptr %buffer{0}.slot, align 8", i), program_.buffers[i].name);
  }
  auto field = [&](const char* name, const char* field_type, unsigned offset) {
    line(fmt::format("%{}.field = getelementptr inbounds i8, ptr %args, i64 {}", name, offset));
    line(fmt::format("%{0} = load {1}, ptr %{0}.field, align {2}", name, field_type,
                     field_type[0] == 'i' && field_type[1] == '3' ? 4 : 8));
  };
  field("scalars", "ptr", 8);
  field("scratch", "ptr", 16);
  field("begin", "i64", 24);
  field("end", "i64", 32);
  field("grid_x", "i32", 40);
  field("grid_y", "i32", 44);
  field("grid_z", "i32", 48);
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < program_.shared.size(); ++i) {
    offset = (offset + 63) / 64 * 64;
    line(fmt::format("%shared{} = getelementptr inbounds i8, ptr %scratch, i64 {}", i, offset),
         program_.shared[i].name);
    offset += std::uint64_t{program_.shared[i].count} * byte_size(program_.shared[i].element);
  }
  line(fmt::format("call void @{}.grid({})", program_.name, grid_signature(false)));
  line("ret void");
  text_ += "}\n";
}

std::string LlvmPrinter::grid_signature(bool with_types) const {
  std::string signature;
  auto add = [&](const std::string& parameter_type, const std::string& attributes, const std::string& name) {
    if (!signature.empty()) signature += ", ";
    signature += parameter_type + (with_types && !attributes.empty() ? " " + attributes : "") + " " + name;
  };
  for (std::size_t i = 0; i < program_.buffers.size(); ++i)
    add("ptr",
        program_.buffers[i].access == Access::read ? "noalias nocapture readonly" : "noalias nocapture",
        fmt::format("%buffer{}", i));
  for (std::size_t i = 0; i < program_.shared.size(); ++i)
    add("ptr", "noalias nocapture align 64", fmt::format("%shared{}", i));
  add("ptr", "noalias nocapture readonly align 16", "%scalars");
  add("i64", "", "%begin");
  add("i64", "", "%end");
  for (const char* axis : {"x", "y", "z"}) add("i32", "", fmt::format("%grid_{}", axis));
  return signature;
}

void LlvmPrinter::print_grid_function() {
  text_ +=
      fmt::format("\n; runs the workgroups begin <= index < end\ndefine internal void @{}.grid({}) #1 {{\n",
                  program_.name, grid_signature(true));
  label("entry");
  print_parameters();
  print_workgroup_loop();
  text_ += "}\n\n";
}

void LlvmPrinter::print_parameters() {
  std::vector<std::uint32_t> offsets = program::scalar_offsets(program_);
  for (std::size_t i = 0; i < program_.scalars.size(); ++i) {
    Type scalar{program_.scalars[i].element, 1};
    line(fmt::format("%scalar{}.field = getelementptr inbounds i8, ptr %scalars, i64 {}", i, offsets[i]));
    std::string stored = scalar.element == ElementType::boolean ? fmt::format("%scalar{}.byte", i)
                                                                : fmt::format("%scalar{}", i);
    line(fmt::format("{} = load {}, ptr %scalar{}.field, align {}", stored, memory_type(scalar), i,
                     byte_size(scalar.element)),
         program_.scalars[i].name);
    if (scalar.element == ElementType::boolean) line(fmt::format("%scalar{} = icmp ne i8 {}, 0", i, stored));
  }
}

void LlvmPrinter::print_workgroup_loop() {
  line("%some = icmp ult i64 %begin, %end");
  line("br i1 %some, label %start, label %done");
  label("start");
  line("%grid_x.wide = zext i32 %grid_x to i64");
  line("%grid_y.wide = zext i32 %grid_y to i64");
  line("%first_x.wide = urem i64 %begin, %grid_x.wide");
  line("%first_rows = udiv i64 %begin, %grid_x.wide");
  line("%first_y.wide = urem i64 %first_rows, %grid_y.wide");
  line("%first_z.wide = udiv i64 %first_rows, %grid_y.wide");
  for (const char* axis : {"x", "y", "z"})
    line(fmt::format("%first_{0} = trunc i64 %first_{0}.wide to i32", axis));
  line("br label %workgroup");

  label("workgroup");
  line("%index = phi i64 [ %begin, %start ], [ %index.next, %advance ]");
  for (const char* axis : {"x", "y", "z"})
    line(fmt::format("%workgroup_{0} = phi i32 [ %first_{0}, %start ], [ %workgroup_{0}.next, %advance ]",
                     axis));
  print_block(program_.body);
  line("br label %advance");

  label("advance");
  line("%index.next = add nuw i64 %index, 1");
  line("%x.after = add nuw i32 %workgroup_x, 1");
  line("%row_ends = icmp eq i32 %x.after, %grid_x");
  line("%workgroup_x.next = select i1 %row_ends, i32 0, i32 %x.after");
  line("%row_ends.carry = zext i1 %row_ends to i32");
  line("%y.after = add nuw i32 %workgroup_y, %row_ends.carry");
  line("%plane_ends = icmp eq i32 %y.after, %grid_y");
  line("%workgroup_y.next = select i1 %plane_ends, i32 0, i32 %y.after");
  line("%plane_ends.carry = zext i1 %plane_ends to i32");
  line("%workgroup_z.next = add nuw i32 %workgroup_z, %plane_ends.carry");
  line("%more = icmp ult i64 %index.next, %end");
  line("br i1 %more, label %workgroup, label %done, !llvm.loop " + loop_metadata(1));
  label("done");
  line("ret void");
}

std::string LlvmPrinter::attributes() const {
  // "no-builtins" keeps LLVM from making calls of memset or memcpy out of loops; the two width attributes
  // make it use whole registers where its tuning would prefer half (AVX-512).
  unsigned bits = 8 * options_.vector_register_bytes;
  std::string common = fmt::format(
      "nounwind \"no-builtins\" \"no-trapping-math\"=\"true\" \"prefer-vector-width\"=\"{0}\" "
      "\"min-legal-vector-width\"=\"{0}\"",
      bits);
  return fmt::format(
      "attributes #0 = {{ {0} }}\nattributes #1 = {{ noinline mustprogress willreturn {0} }}\n", common);
}

// ------------------------------------------------------------------------------------------- text and names

void LlvmPrinter::line(const std::string& text, const std::string& note) {
  if (!text.empty()) text_ += indent_ + text;
  if (!note.empty()) {
    text_ += text.empty() ? "; " : "  ; ";
    for (char c : note) text_ += c == '\n' || c == '\r' ? ' ' : c;  // a note must not become code
  }
  text_ += '\n';
}

void LlvmPrinter::label(const std::string& name) {
  text_ += name + ":\n";
  block_ = name;
}

std::string LlvmPrinter::temporary(const std::string& expression) {
  std::string name = fmt::format("%t{}", next_temporary_++);
  line(name + " = " + expression);
  return name;
}

void LlvmPrinter::define(const Instruction& instruction, const std::string& expression) {
  std::string name = value_name(instruction.results[0]);
  line(name + " = " + expression, instruction.note);
  set_name(instruction.results[0], std::move(name));
}

std::string LlvmPrinter::call(const std::string& result_type, const std::string& intrinsic,
                              std::initializer_list<std::string> typed_arguments) {
  std::string arguments;
  std::string types;
  for (const std::string& argument : typed_arguments) {
    // "<8 x float> %x": the type ends before the operand, which is one word unless it is `splat (…)` and the
    // like
    std::size_t end = argument[0] == '<' ? argument.find('>') + 1 : argument.find(' ');
    if (!arguments.empty()) {
      arguments += ", ";
      types += ", ";
    }
    arguments += argument;
    types += argument.substr(0, end);
  }
  declarations_.insert(fmt::format("declare {} @{}({})", result_type, intrinsic, types));
  return fmt::format("call {} @{}({})", result_type, intrinsic, arguments);
}

std::string LlvmPrinter::new_label(const char* stem) {
  return fmt::format("{}{}", stem, next_label_++);
}

void LlvmPrinter::error(ErrorCode code, std::string message) {
  if (!error_) error_ = Error{code, fmt::format("emit_llvm: kernel {}: {}", program_.name, message)};
}

std::string LlvmPrinter::typed(ValueId value) const {
  return register_type(type(value)) + " " + name(value);
}

std::string LlvmPrinter::value_name(ValueId value) {
  return fmt::format("%v{}", program::index(value));
}

namespace {

std::string vector_of(const std::string& element, std::uint16_t lanes) {
  return lanes == 1 ? element : fmt::format("<{} x {}>", lanes, element);
}

}  // namespace

std::string LlvmPrinter::register_type(Type type) {
  switch (type.element) {
    case ElementType::boolean:
      return vector_of("i1", type.lanes);
    case ElementType::f32:
      return vector_of("float", type.lanes);
    case ElementType::f64:
      return vector_of("double", type.lanes);
    default:
      return integer_type(8 * static_cast<unsigned>(byte_size(type.element)), type.lanes);
  }
}

std::string LlvmPrinter::memory_type(Type type) {
  return type.element == ElementType::boolean ? integer_type(8, type.lanes) : register_type(type);
}

std::string LlvmPrinter::integer_type(unsigned bits, std::uint16_t lanes) {
  return vector_of(fmt::format("i{}", bits), lanes);
}

std::string LlvmPrinter::wide_type(std::uint16_t lanes) {
  return vector_of("float", lanes);
}

std::string LlvmPrinter::suffix(ElementType element, std::uint16_t lanes) {
  std::string element_name =
      element == ElementType::f32 ? "f32"
      : element == ElementType::f64
          ? "f64"
          : fmt::format("i{}", element == ElementType::boolean ? 8 : 8 * byte_size(element));
  return lanes == 1 ? "." + element_name : fmt::format(".v{}{}", lanes, element_name);
}

std::string LlvmPrinter::integer_suffix(unsigned bits, std::uint16_t lanes) {
  return lanes == 1 ? fmt::format(".i{}", bits) : fmt::format(".v{}i{}", lanes, bits);
}

}  // namespace halyard::fusion
