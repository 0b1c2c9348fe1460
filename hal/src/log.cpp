#include "halyard/hal/log.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

namespace halyard::hal {
namespace {

struct SinkHolder {
  std::mutex mutex;
  std::shared_ptr<const LogSink> sink;
};

// Never destroyed: backends' threads may log while the process ends.
SinkHolder& holder() {
  static auto* instance = new SinkHolder;
  return *instance;
}

int least_level() {
  const char* text = std::getenv("HALYARD_LOG");
  const std::string_view name = text != nullptr ? text : "warning";
  if (name == "debug") return 0;
  if (name == "info") return 1;
  if (name == "error") return 3;
  if (name == "off") return 4;
  return 2;
}

}  // namespace

void set_log_sink(LogSink sink) {
  std::lock_guard lock(holder().mutex);
  holder().sink = sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr;
}

void log(LogLevel level, std::string_view source, std::string_view message) {
  std::shared_ptr<const LogSink> sink;
  {
    std::lock_guard lock(holder().mutex);
    sink = holder().sink;
  }
  if (sink) return (*sink)(level, source, message);
  static const int least = least_level();
  if (static_cast<int>(level) < least) return;
  static constexpr const char* names[] = {"debug", "info", "warning", "error"};
  const std::string line = std::string("halyard: ") + names[static_cast<int>(level)] + ": " +
                           std::string(source) + ": " + std::string(message) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace halyard::hal
