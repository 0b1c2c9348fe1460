#include <fmt/format.h>
#include <halyard/fusion/executable.h>
#include <halyard/fusion/explanation.h>
#include <halyard/hal/registry.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "commands.h"
#include "compile_arguments.h"
#include "disassembly.h"
#include "model_inputs.h"
#include "progress.h"

namespace halyard::tools {
namespace {

struct ExplainArguments {
  std::string model;
  std::string device = "auto";
  std::vector<std::string> inputs;
  bool json = false;
  std::string emit;
  CompileArguments compile;
  std::int64_t open_extent = 128;
};

void explain(const ExplainArguments& arguments) {
  onnx::Model model = value_or_exit(onnx::Model::load(arguments.model));
  onnx::InputShapes shapes = argument_or_exit(input_shapes(model, arguments.inputs, arguments.open_extent));
  ops::Graph graph = argument_or_exit(model.graph(shapes));
  auto device = argument_or_exit(hal::Registry::shared().open(arguments.device));
  auto compiler = value_or_exit(fusion::Compiler::create(device));
  fusion::CompileOptions options = arguments.compile.options();
  options.progress = compile_progress("compiling for " + device->info().uri);
  auto compiled = compiler->compile(graph, options);
  finish_progress();
  auto executable = value_or_exit(std::move(compiled));
  fusion::Explanation explanation = fusion::explain(*executable);
  if (arguments.json) {
    fmt::print("{}\n", fusion::to_json(explanation));
  } else {
    fmt::print("{}\n", model.description());
    for (const auto& [name, shape] : shapes) fmt::print("  {} {}\n", name, shape.text());
    fmt::print("{}", fusion::to_table(explanation));
  }
  if (arguments.emit.empty()) return;
  const std::size_t kernels = value_or_exit(fusion::emit(*executable, arguments.emit));
  value_or_exit(disassemble_spirv(arguments.emit));
  fmt::print(stderr, "wrote {} kernels (tile program, thread program, generated code) to {}\n", kernels,
             arguments.emit);
}

}  // namespace

void add_explain_command(CLI::App& application) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* command =
      application.add_subcommand("explain", "Show what is fused and why, and what is not and why not");
  command->add_option("model", arguments->model, "The model: FILE.onnx")->required();
  command->add_option("-d,--device", arguments->device,
                      "Device URI (default: HALYARD_DEVICE, else the best found)");
  command->add_option("-i,--input", arguments->inputs, "NAME=SHAPE like ids=8x128, or as for run")
      ->take_all();
  command
      ->add_option("--open-extent", arguments->open_extent,
                   "Size of open dimensions that no --input names, but for the first, which is 1")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30));
  command->add_flag("--json", arguments->json, "Stable JSON instead of tables");
  command->add_option("--emit", arguments->emit,
                      "Write every kernel's tile program, thread program and generated code to this folder");
  arguments->compile.add_to(*command);
  command->callback([arguments] { explain(*arguments); });
}

}  // namespace halyard::tools
