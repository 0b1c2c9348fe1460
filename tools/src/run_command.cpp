#include <fmt/format.h>
#include <halyard/fusion/executable.h>
#include <halyard/fusion/explanation.h>
#include <halyard/hal/registry.h>
#include <halyard/ops/npy.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <set>

#include "commands.h"
#include "compile_arguments.h"
#include "model_inputs.h"
#include "progress.h"

namespace halyard::tools {
namespace {

struct RunArguments {
  std::string model;
  std::string device = "auto";
  std::vector<std::string> inputs;
  std::string output;
  bool profile = false;
  CompileArguments compile;
};

void write_outputs(const onnx::Model& model, const std::vector<ops::HostTensor>& outputs,
                   const std::filesystem::path& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem)
    throw_error({ErrorCode::io_error,
                 fmt::format("--output: cannot make folder '{}': {}", folder.string(), problem.message())});
  std::set<std::string> used;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::string file = model.outputs()[i].name;
    for (char& c : file)
      if (c == '/' || c == '\\' || c == ':' || static_cast<unsigned char>(c) < 0x20) c = '_';
    // Names that differ in such a character alone must not become one file.
    const std::string base = file;
    for (int number = 2; !used.insert(file).second; ++number) file = fmt::format("{}-{}", base, number);
    const std::filesystem::path path = folder / (file + ".npy");
    value_or_exit(ops::write_npy(path, outputs[i]));
    fmt::print("wrote {}\n", path.string());
  }
}

void run(const RunArguments& arguments) {
  onnx::Model model = value_or_exit(onnx::Model::load(arguments.model));
  std::vector<ops::HostTensor> inputs = argument_or_exit(read_inputs(model, arguments.inputs));
  ops::Graph graph = argument_or_exit(model.graph(shapes_of(model, inputs)));
  auto device = argument_or_exit(hal::Registry::shared().open(arguments.device));
  auto compiler = value_or_exit(fusion::Compiler::create(device));
  fusion::CompileOptions options = arguments.compile.options();
  options.progress = compile_progress("compiling for " + device->info().uri);
  auto compiled = compiler->compile(graph, options);
  finish_progress();
  auto executable = value_or_exit(std::move(compiled));
  std::vector<ops::HostTensor> outputs = value_or_exit(executable->run(inputs));

  const fusion::CompileCounters& counters = executable->counters();
  fmt::print("{} on {} ({}): {} launches, {} kernels ({} compiled, {} from the disk cache)\n",
             arguments.model, device->info().uri, device->info().name, executable->steps().size(),
             counters.kernels, counters.compiled, counters.loaded);
  if (arguments.profile) {
    (void)value_or_exit(device->measurements());
    auto timings = value_or_exit(executable->measure(inputs, 5));
    fmt::print("{}", fusion::to_table(fusion::explain(*executable, &timings), false));
  }
  if (!arguments.output.empty()) return write_outputs(model, outputs, arguments.output);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    fmt::print("{} = {}\n", model.outputs()[i].name, ops::format(outputs[i]));
}

}  // namespace

void add_run_command(CLI::App& application) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = application.add_subcommand("run", "Run an ONNX model on a device");
  command->add_option("model", arguments->model, "The model: FILE.onnx")->required();
  command->add_option("-d,--device", arguments->device,
                      "Device URI (default: HALYARD_DEVICE, else the best found)");
  command
      ->add_option("-i,--input", arguments->inputs,
                   "NAME=FILE.npy, or NAME=random:SHAPE with SHAPE like 8x128; once per input")
      ->take_all();
  command->add_option("-o,--output", arguments->output,
                      "Folder for the outputs as NAME.npy (default: print them)");
  command->add_flag("--profile", arguments->profile,
                    "Print a table per kernel: time, bytes, FLOPs, fractions of the device's ceilings");
  arguments->compile.add_to(*command);
  command->footer(
      "Example: halyard run model.onnx --device cpu --input ids=ids.npy --input mask=random:1x32 --profile");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace halyard::tools
