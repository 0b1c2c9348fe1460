#include "hal_cases.h"

#include <fmt/format.h>
#include <algorithm>
#include <filesystem>

#include <doctest/doctest.h>

#include "../hal/chosen_devices.h"

namespace halyard::conformance {
namespace {

/// What the reporter below has seen since it was last asked.
struct Seen {
  std::vector<std::string> names;
  std::string complaints;
};
Seen& seen() {
  static Seen all;
  return all;
}

void complain(const char* file, int line, std::string_view what) {
  std::string& text = seen().complaints;
  text += fmt::format("{}{}:{}: {}", text.empty() ? "" : "; ",
                      std::filesystem::path(file).filename().string(), line, what);
}

/// Keeps what failed, in words; prints nothing.
class Collector : public doctest::IReporter {
 public:
  explicit Collector(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData& query) override {
    for (unsigned i = 0; i < query.num_data; ++i) seen().names.emplace_back(query.data[i]->m_name);
  }
  void log_assert(const doctest::AssertData& data) override {
    if (!data.m_failed) return;
    complain(
        data.m_file, data.m_line,
        data.m_threw ? data.m_exception.c_str() : fmt::format("{} ({})", data.m_expr, data.m_decomp.c_str()));
  }
  void log_message(const doctest::MessageData& data) override {
    if (data.m_severity != doctest::assertType::is_warn)
      complain(data.m_file, data.m_line, data.m_string.c_str());
  }
  void test_case_exception(const doctest::TestCaseException& exception) override {
    complain("", 0,
             fmt::format("{}: {}", exception.is_crash ? "crashed" : "threw", exception.error_string.c_str()));
  }
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};
REGISTER_REPORTER("halyard", 1, Collector);

}  // namespace

std::vector<std::string> hal_facts() {
  seen() = {};
  // A query is no option: it is taken from a command line alone.
  const char* const words[] = {"halyard", "--list-test-cases"};
  doctest::Context context(2, words);
  context.addFilter("reporters", "halyard");
  context.run();
  return seen().names;
}

std::string check_hal_fact(const std::string& fact, const std::string& uri) {
  seen() = {};
  choose_device(uri);
  // A filter's commas would separate patterns.
  std::string pattern = fact;
  std::replace(pattern.begin(), pattern.end(), ',', '?');
  doctest::Context context;
  context.addFilter("reporters", "halyard");
  context.addFilter("test-case", pattern.c_str());
  context.run();
  return seen().complaints;
}

}  // namespace halyard::conformance
