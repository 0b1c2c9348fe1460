#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace halyard::tools {
namespace {

void show_bar(std::string_view title, std::size_t done, std::size_t total, std::string_view latest) {
  constexpr std::size_t width = 30;
  const std::size_t filled = total > 0 ? width * done / total : width;
  fmt::print(stderr, "\r{}[{:<{}}] {}/{} {:<48.48}", title, std::string(filled, '#'), width, done, total,
             latest);
  std::fflush(stderr);
}

}  // namespace

std::function<void(const fusion::CompileProgress&)> compile_progress(std::string title) {
  if (!isatty(fileno(stderr))) return {};
  return [title = std::move(title) + " "](const fusion::CompileProgress& progress) {
    show_bar(title, progress.done, progress.total, progress.kernel);
  };
}

void show_count(std::size_t done, std::size_t total, std::string_view latest) {
  if (isatty(fileno(stderr))) show_bar("", done, total, latest);
}

void finish_progress() {
  if (isatty(fileno(stderr))) std::fputs("\r\033[K", stderr);
}

}  // namespace halyard::tools
