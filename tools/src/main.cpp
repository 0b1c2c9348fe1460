#include <fmt/format.h>
#include <halyard/hal/nearest_name.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include "commands.h"

namespace {

/// "did you mean …" for a first word that is no subcommand, or an option that none has.
std::string suggestion(const CLI::App& application, int count, char** words) {
  if (count == 1) return application.help() + "\n";
  std::vector<std::string> commands;
  std::vector<std::string> options;
  const CLI::App* chosen = &application;
  for (const CLI::App* command : application.get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(command->get_name());
    if (count > 1 && command->get_name() == words[1]) chosen = command;
  }
  if (count > 1 && chosen == &application && words[1][0] != '-') {
    std::string nearest = halyard::hal::nearest_name(words[1], commands);
    return fmt::format("'{}' is no command of halyard{}; there are {}\n", words[1],
                       nearest.empty() ? "" : fmt::format(": did you mean '{}'?", nearest),
                       fmt::join(commands, ", "));
  }
  std::vector<std::string> actions;
  for (const CLI::App* action : chosen->get_subcommands([](const CLI::App*) { return true; }))
    actions.push_back(action->get_name());
  if (chosen != &application && !actions.empty() && count > 2 && words[2][0] != '-') {
    std::string nearest = halyard::hal::nearest_name(words[2], actions);
    if (!nearest.empty() && nearest != words[2])
      return fmt::format("'{}' is nothing that '{}' does; did you mean '{}'?\n", words[2], words[1], nearest);
  }
  for (const CLI::Option* option : chosen->get_options()) options.push_back(option->get_name());
  for (int i = 1; i < count; ++i) {
    std::string word(words[i]);
    word = word.substr(0, word.find('='));
    if (!word.starts_with("--") || chosen->get_option_no_throw(word)) continue;
    std::string nearest = halyard::hal::nearest_name(word, options);
    return fmt::format("'{}' is no option here{}; there are {}\n", word,
                       nearest.empty() ? "" : fmt::format(": did you mean '{}'?", nearest),
                       fmt::join(options, ", "));
  }
  return "";
}

int run(int count, char** words) {
  using namespace halyard::tools;
  CLI::App application{
      "Halyard runs tensor programs on any vendor's device: fused, and with the same bits everywhere.\n"
      "A device is named by a URI: cpu, cuda:0, hip:1, vulkan:0, vulkan:llvmpipe, cuda:GPU-<uuid>, auto.\n"
      "HALYARD_DEVICE sets the default, HALYARD_BACKEND_PATH adds folders with backends, HALYARD_CACHE_DIR "
      "moves the cache.",
      "halyard"};
  application.require_subcommand(1);
  application.set_version_flag("--version", std::string("halyard ") + HALYARD_VERSION);
  application.footer(
      "Exit codes: 0 success, 1 a device, model or file failed, 2 the command line does not make sense.");
  add_devices_command(application);
  add_run_command(application);
  add_explain_command(application);
  add_cache_command(application);
  add_conformance_command(application);
  add_bench_command(application);
  try {
    application.parse(count, words);
    return exit_success;
  } catch (const CLI::Success& success) {
    return application.exit(success);
  } catch (const CLI::ParseError& error) {
    std::fputs(suggestion(application, count, words).c_str(), stderr);
    application.exit(error);
    return exit_usage;
  } catch (const CommandError& error) {
    fmt::print(stderr, "halyard: {}\n", error.error.message);
    return error.exit_code;
  }
}

}  // namespace

int main(int count, char** words) {
  try {
    const int code = run(count, words);
    // What was printed may still lie in a buffer that does not fit on the disk.
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    std::fprintf(stderr, "halyard: standard output cannot be written: %s\n", std::strerror(errno));
    return halyard::tools::exit_failure;
  } catch (const std::system_error& error) {  // {fmt}'s way to say the same
    std::fprintf(stderr, "halyard: output cannot be written: %s\n", error.code().message().c_str());
    return halyard::tools::exit_failure;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "halyard: out of host memory; use smaller inputs or free some\n");
    return halyard::tools::exit_failure;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "halyard: unexpected: %s\n", error.what());
    return halyard::tools::exit_failure;
  }
}
