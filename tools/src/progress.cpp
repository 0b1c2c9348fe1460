#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace halyard::tools {

std::function<void(const fusion::CompileProgress&)> compile_progress(std::string title) {
  if (!isatty(fileno(stderr))) return {};
  return [title = std::move(title)](const fusion::CompileProgress& progress) {
    constexpr unsigned width = 30;
    const unsigned filled = progress.total ? width * progress.done / progress.total : width;
    fmt::print(stderr, "\r{} [{:<{}}] {}/{} {:<32.32}", title, std::string(filled, '#'), width, progress.done,
               progress.total, progress.kernel);
    std::fflush(stderr);
  };
}

void finish_progress() {
  if (isatty(fileno(stderr))) std::fputs("\r\033[K", stderr);
}

}  // namespace halyard::tools
