// The main job: encodes a dozen sentences on every device found, fused and not, and compares the devices'
// results.
#include <fmt/format.h>
#include <halyard/hal/registry.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "checks.h"
#include "encoder.h"

using namespace halyard;

namespace {

const std::vector<std::string> default_sentences{
    "A man is playing a guitar on the stage.",
    "Someone performs a song with a stringed instrument.",
    "The cat sleeps on the warm windowsill.",
    "A kitten is napping in the sun by the window.",
    "The stock market fell sharply after the announcement.",
    "Share prices dropped when the news came out.",
    "She bakes bread every Sunday morning.",
    "On weekends he likes to make fresh loaves.",
    "The spacecraft entered orbit around Mars.",
    "A probe has reached the red planet.",
    "Doctors recommend eight hours of sleep.",
    "Resting well at night is good for your health.",
};

struct DeviceResult {
  std::string uri, name;
  Measured unfused, fused;
  bool fused_fma = true;
  bool keeps_subnormals = true;
};

/// On a terminal, a line that the next one replaces.
void show_progress(const std::string& line) {
  if (isatty(fileno(stdout))) fmt::print("\r  {}\033[K", line);
  std::fflush(stdout);
}

/// A line that shows how far a compilation is, erased when done.
fusion::CompileOptions with_progress(std::string title, ops::Fusion fuse) {
  fusion::CompileOptions options;
  options.fusion = fuse;
  options.progress = [title = std::move(title),
                      last = std::uint32_t{0}](const fusion::CompileProgress& progress) mutable {
    const std::string line = fmt::format("{}: kernel {} of {}", title, progress.done, progress.total);
    show_progress(line);
    if (isatty(fileno(stdout)) || (progress.done != progress.total && progress.done < last + 20)) return;
    last = progress.done;
    fmt::print("  {}\n", line);
    std::fflush(stdout);
  };
  return options;
}

void end_progress() {
  if (isatty(fileno(stdout))) fmt::print("\r\033[K");
  std::fflush(stdout);
}

void print_neighbours(const std::vector<std::string>& sentences, const ops::HostTensor& embeddings) {
  const auto values = embeddings.values<float>();
  const auto width = static_cast<std::size_t>(embeddings.shape()[1]);
  fmt::print("\nnearest neighbours (cosine)\n");
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    std::size_t best = i;
    double best_cosine = -2;
    for (std::size_t j = 0; j < sentences.size(); ++j) {
      double cosine = 0;
      for (std::size_t k = 0; k < width; ++k) cosine += double{values[i * width + k]} * values[j * width + k];
      if (j != i && cosine > best_cosine) best = j, best_cosine = cosine;
    }
    fmt::print("  {:<52} -> {:<52} {:.3f}\n", sentences[i], sentences[best], best_cosine);
  }
}

double largest_difference(const ops::HostTensor& a, const ops::HostTensor& b) {
  double largest = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) largest = std::max(largest, std::fabs(a.at(i) - b.at(i)));
  return largest;
}

void print_device(const DeviceResult& result) {
  fmt::print("\n{} ({})\n", result.uri, result.name);
  for (const auto& [title, measured] :
       {std::pair("unfused", &result.unfused), std::pair("fused", &result.fused)}) {
    fmt::print("  {:<8} {:>9.2f} ms  {:>8.1f} MB moved  {:>4} launches", title, measured->seconds * 1e3,
               static_cast<double>(measured->bytes) * 1e-6, measured->launches);
    double total = 0;
    for (const auto& [kind, seconds] : measured->seconds_by_kind) total += seconds;
    for (const char* kind : {"contraction", "normalization", "elementwise"}) {
      auto found = measured->seconds_by_kind.find(kind);
      if (total > 0)
        fmt::print("  {} {:.0f} %", kind,
                   found == measured->seconds_by_kind.end() ? 0.0 : 100 * found->second / total);
    }
    fmt::print("\n");
  }
  fmt::print(
      "  fused against unfused: {:.2f} times as fast, {:.2f} of the bytes, {}\n",
      result.unfused.seconds / result.fused.seconds,
      static_cast<double>(result.fused.bytes) / static_cast<double>(result.unfused.bytes),
      ops::same_bits(result.fused.embeddings, result.unfused.embeddings) ? "same bits" : "BITS DIFFER");
}

Result<DeviceResult> run_device(const std::string& uri, const ops::Graph& graph,
                                const std::vector<ops::HostTensor>& inputs, int repeats) {
  HALYARD_ASSIGN(auto device, hal::Registry::shared().open(uri));
  HALYARD_ASSIGN(auto compiler, fusion::Compiler::create(device));
  DeviceResult result{.uri = device->info().uri, .name = device->info().name};
  result.fused_fma = compiler->profile().fused_fma;
  result.keeps_subnormals = compiler->profile().keeps_subnormals;
  HALYARD_ASSIGN(Trial unfused,
                 Trial::start(*compiler, graph, inputs, with_progress(uri + " unfused", ops::Fusion::off)));
  HALYARD_ASSIGN(Trial fused,
                 Trial::start(*compiler, graph, inputs, with_progress(uri + " fused", ops::Fusion::on)));
  // In turns, so that both meet the same machine.
  for (int i = 0; i < repeats; ++i) {
    show_progress(fmt::format("{}: run {} of {}", uri, i + 1, repeats));
    HALYARD_TRY(unfused.time_once());
    HALYARD_TRY(fused.time_once());
  }
  result.unfused = unfused.measured();
  result.fused = fused.measured();
  end_progress();
  return result;
}

/// Compares every device with the cpu: bit for bit in the device's own class, and in value with the cpu's own
/// class.
Result<bool> compare(const std::vector<DeviceResult>& results, const ops::Graph& graph,
                     const std::vector<ops::HostTensor>& inputs) {
  HALYARD_ASSIGN(auto cpu, hal::Registry::shared().open("cpu"));
  HALYARD_ASSIGN(auto compiler, fusion::Compiler::create(cpu));
  fmt::print("\nagreement with the cpu\n");
  bool all_equal = true;
  for (const DeviceResult& result : results) {
    fusion::CompileOptions options;
    HALYARD_ASSIGN(Trial own, Trial::start(*compiler, graph, inputs, options));
    options.numeric_class = ops::NumericClass{.fused_fma = result.fused_fma};
    HALYARD_ASSIGN(Trial same_class, Trial::start(*compiler, graph, inputs, options));
    const bool equal = ops::same_bits(result.fused.embeddings, same_class.measured().embeddings);
    all_equal = all_equal && equal;
    fmt::print(
        "  {:<12} largest difference {:.1e}; in its class ({}{}): {}\n", result.uri,
        largest_difference(result.fused.embeddings, own.measured().embeddings),
        result.fused_fma ? "fused" : "unfused", result.keeps_subnormals ? "" : ", flushes subnormals",
        equal ? "same bits"
              : fmt::format("BITS DIFFER, by at most {:.1e}",
                            largest_difference(result.fused.embeddings, same_class.measured().embeddings)));
  }
  return all_equal;
}

/// The promises of the encoder that no timing shows; false if one is broken.
Result<bool> check_promises(const std::vector<DeviceResult>& results, const Encoder& encoder,
                            const std::vector<std::string>& sentences) {
  bool kept = true;
  for (const DeviceResult& result : results) {
    fmt::print("\nchecks on {}\n", result.uri);
    HALYARD_ASSIGN(auto device, hal::Registry::shared().open(result.uri));
    HALYARD_ASSIGN(auto compiler, fusion::Compiler::create(device));
    HALYARD_ASSIGN(bool same, check_batch_invariance(encoder, *compiler, sentences));
    HALYARD_ASSIGN(bool shared, check_kernels_over_lengths(encoder, *compiler));
    const bool fused_alike = ops::same_bits(result.fused.embeddings, result.unfused.embeddings);
    kept = kept && same && shared && fused_alike;
  }
  return kept;
}

struct Arguments {
  std::filesystem::path model = "models/minilm";
  std::vector<std::string> devices;
  std::string sentences;
  int repeats = 5;
  bool check = false;
};

Result<std::vector<std::string>> read_sentences(const std::string& path) {
  if (path.empty()) return default_sentences;
  std::ifstream file(path);
  if (!file) return fail(ErrorCode::io_error, fmt::format("cannot read '{}'", path));
  std::vector<std::string> sentences;
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) sentences.push_back(line);
  if (sentences.size() < 2)
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' needs at least two lines", path));
  return sentences;
}

Status run(const Arguments& arguments) {
  HALYARD_ASSIGN(Encoder encoder, Encoder::load(arguments.model));
  HALYARD_ASSIGN(std::vector<std::string> sentences, read_sentences(arguments.sentences));
  fmt::print("model: {}\n\ndevices, best first\n", encoder.model().description());
  std::vector<std::string> uris = arguments.devices;
  for (const hal::DeviceSummary& device : hal::Registry::shared().devices()) {
    fmt::print("  {:<12} {}{}\n", device.uri, device.name, device.software ? "  (software driver)" : "");
    if (arguments.devices.empty() && !device.emulated) uris.push_back(device.uri);
  }
  for (const hal::BackendReport& backend : hal::Registry::shared().backends())
    if (!backend.status)
      fmt::print("  {:<12} not available: {}\n", backend.name, backend.status.error().message);
  fmt::print("\n");

  HALYARD_ASSIGN(std::vector<ops::HostTensor> inputs, encoder.tokenize(sentences));
  HALYARD_ASSIGN(ops::Graph graph, encoder.graph(inputs));
  fmt::print("{} sentences of up to {} tokens\n", inputs[0].shape()[0], inputs[0].shape()[1]);
  std::vector<DeviceResult> results;
  std::optional<Error> first_failure;
  for (const std::string& uri : uris) {
    auto result = run_device(uri, graph, inputs, arguments.repeats);
    if (!result) {
      end_progress();
      fmt::print("\n{} failed: {}\n", uri, result.error().message);
      if (!first_failure) first_failure = result.error();
      continue;
    }
    if (results.empty()) print_neighbours(sentences, result->fused.embeddings);
    print_device(*result);
    results.push_back(std::move(*result));
  }
  HALYARD_ASSIGN(bool agree, compare(results, graph, inputs));
  if (arguments.check) {
    HALYARD_ASSIGN(bool kept, check_promises(results, encoder, sentences));
    if (!kept) return fail(ErrorCode::internal, "a promise is broken: see above");
  }
  for (const DeviceResult& result : results)
    agree = agree && ops::same_bits(result.fused.embeddings, result.unfused.embeddings);
  if (!agree) return fail(ErrorCode::internal, "results differ where they must agree to the bit: see above");
  if (first_failure) return tl::unexpected<Error>(*first_failure);
  return {};
}

}  // namespace

int main(int count, char** words) {
  Arguments arguments;
  CLI::App application{
      "Encodes sentences on every device found, fused and unfused, and compares the results."};
  application.add_option("--model", arguments.model, "Folder with model.onnx and vocab.txt")
      ->capture_default_str();
  application.add_option("--device", arguments.devices,
                         "Device URI, repeatable (default: every device found)");
  application.add_option("--sentences", arguments.sentences,
                         "A text file, one sentence a line (default: a dozen built in)");
  application.add_option("--repeats", arguments.repeats, "Runs of which the shortest is reported")
      ->check(CLI::PositiveNumber);
  application.add_flag("--check", arguments.check,
                       "Also check batch invariance and kernel sharing; fail if anything disagrees");
  bool test = false;
  application.add_flag("--test", test,
                       "As the test suite runs it: --check, one repeat, the model in HALYARD_TEST_MODEL");
  CLI11_PARSE(application, count, words);
  if (test) {
    constexpr int skipped = 77;
    const char* folder = std::getenv("HALYARD_TEST_MODEL");
    if (!folder || !std::filesystem::exists(std::filesystem::path(folder) / "model.onnx")) {
      fmt::print("skipped: no model in HALYARD_TEST_MODEL (scripts/setup --with-model)\n");
      return skipped;
    }
    arguments.model = folder;
    arguments.repeats = 1;
    arguments.check = true;
  }
  if (Status status = run(arguments); !status) {
    fmt::print(stderr, "sentences: {}\n", status.error().message);
    return 1;
  }
  return 0;
}
