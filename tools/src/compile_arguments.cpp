#include "compile_arguments.h"

#include <fmt/format.h>
#include <halyard/hal/nearest_name.h>
#include <halyard/ops/executor.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "commands.h"

namespace halyard::tools {
namespace {

/// One of a few words; else the error names the nearest.
CLI::Validator choice(std::vector<std::string> words) {
  std::string shown = fmt::format("{{{}}}", fmt::join(words, ","));
  return CLI::Validator(
      [words = std::move(words)](const std::string& word) {
        if (std::find(words.begin(), words.end(), word) != words.end()) return std::string();
        std::string nearest = hal::nearest_name(word, words);
        return fmt::format("'{}' is none of {}{}", word, fmt::join(words, ", "),
                           nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
      },
      std::move(shown));
}

}  // namespace

void CompileArguments::add_to(CLI::App& command) {
  command
      .add_option(
          "--fusion", fusion,
          "on, or off: one kernel per operation, with the same bits (default: HALYARD_FUSION, else on)")
      ->check(choice({"on", "off"}));
  command.add_option("--numerics", numerics, "The promise about numbers (docs/numerics.md)")
      ->check(choice({"standard", "reproducible", "fast"}));
}

fusion::CompileOptions CompileArguments::options() const {
  const char* environment = std::getenv("HALYARD_FUSION");
  const std::string_view word = environment ? environment : "";
  if (fusion.empty() && !word.empty() && word != "on" && word != "off")
    throw_usage(fmt::format("HALYARD_FUSION is '{}'; set it to on or off, or unset it", word));
  fusion::CompileOptions options;
  options.fusion = fusion.empty()    ? ops::current_fusion()
                   : fusion == "off" ? ops::Fusion::off
                                     : ops::Fusion::on;
  options.numerics = *fusion::parse_numerics(numerics);
  return options;
}

}  // namespace halyard::tools
