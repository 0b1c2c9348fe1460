#include <halyard/conformance/report.h>

#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

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

std::vector<std::string> Report::suite_names() const {
  std::vector<std::string> names;
  for (const CaseReport& each : cases)
    if (std::find(names.begin(), names.end(), each.suite) == names.end()) names.push_back(each.suite);
  return names;
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

namespace {

tl::unexpected<Error> refused(const std::filesystem::path& path, std::string_view reason) {
  return fail(ErrorCode::io_error, fmt::format("cannot write '{}': {}", path.string(), reason));
}

}  // namespace

Status check_writable(const std::filesystem::path& path) {
  std::error_code problem;
  // Renaming over a device node (/dev/null) would replace it.
  if (std::filesystem::exists(path, problem) && !std::filesystem::is_regular_file(path, problem))
    return refused(path, "it exists and is no regular file");
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return refused(path, std::strerror(errno));
  return {};
}

Status write_file(const std::filesystem::path& path, std::string_view text) {
  HALYARD_TRY(check_writable(path));
  const std::filesystem::path temporary = path.string() + fmt::format(".{}.tmp", ::getpid());
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  const int cause = errno;
  std::error_code problem;
  if (file) std::filesystem::rename(temporary, path, problem);
  if (file && !problem) return {};
  const std::string reason = file ? problem.message() : std::strerror(cause);
  std::filesystem::remove(temporary, problem);
  return refused(path, reason);
}

Result<std::string> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  // An empty file would make << fail.
  if (file && file.peek() != EOF) text << file.rdbuf();
  const int cause = errno;
  if (!file.is_open() || file.bad() || !text)
    return fail(cause == ENOENT ? ErrorCode::not_found : ErrorCode::io_error,
                fmt::format("cannot read report '{}': {}", path.string(), std::strerror(cause)));
  return std::move(text).str();
}

Result<Report> read_report(const std::filesystem::path& path) {
  HALYARD_ASSIGN(std::string text, read_file(path));
  auto report = from_json(text);
  if (!report) return fail(report.error().code, fmt::format("{}: {}", path.string(), report.error().message));
  return report;
}

}  // namespace halyard::conformance
