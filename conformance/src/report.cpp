#include <halyard/conformance/report.h>

#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace halyard::conformance {

std::string Report::DeviceLine::numeric_class() const {
  return subnormals == "kept" ? fma : fma + ", flushes subnormals";
}

std::size_t Report::count(Verdict verdict) const {
  return static_cast<std::size_t>(std::count_if(
      cases.begin(), cases.end(), [&](const CaseReport& each) { return each.outcome.verdict == verdict; }));
}

bool Report::failed() const {
  return std::any_of(cases.begin(), cases.end(),
                     [](const CaseReport& each) { return is_failure(each.outcome.verdict); });
}

Report::DeviceLine describe(const hal::DeviceInfo& info) {
  Report::DeviceLine line;
  line.uri = info.uri;
  line.name = info.name;
  line.backend = info.backend;
  line.driver = info.driver;
  line.driver_version = info.driver_version;
  line.architecture = info.architecture;
  line.emulated = info.emulated;
  line.fma = info.numeric.fused_fma == hal::Fact::yes ? "fused" : "unfused";
  line.subnormals = info.numeric.keeps_subnormals == hal::Fact::yes ? "kept" : "flushed";
  return line;
}

Status write_file(const std::filesystem::path& path, std::string_view text) {
  const std::filesystem::path temporary = path.string() + fmt::format(".{}.tmp", ::getpid());
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  std::error_code problem;
  const int cause = errno;
  if (file) std::filesystem::rename(temporary, path, problem);
  if (file && !problem) return {};
  const std::string reason = file ? problem.message() : std::strerror(cause);
  std::filesystem::remove(temporary, problem);
  return fail(ErrorCode::io_error, fmt::format("cannot write '{}': {}", path.string(), reason));
}

Result<Report> read_report(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return fail(ErrorCode::not_found,
                fmt::format("cannot read report '{}': {}", path.string(), std::strerror(errno)));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  auto report = from_json(text);
  if (!report) return fail(report.error().code, fmt::format("{}: {}", path.string(), report.error().message));
  return report;
}

}  // namespace halyard::conformance
