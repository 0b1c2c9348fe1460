#include <array>
#include <charconv>
#include <vector>

#include "device_info_reader.h"
#include "halyard/hal/quirks.h"

namespace halyard::hal {
namespace {

/// A row holds for drivers of a backend whose name contains `driver` and whose version is in [from, before);
/// an empty bound is open.
struct QuirkRow {
  std::string_view backend, driver, from, before;
  std::string_view name;
  std::int64_t value;
  std::string_view reason;
};

constexpr std::array quirk_rows{
    QuirkRow{"vulkan", "llvmpipe", "", "23", quirk::max_loop_iterations, 65535,
             "Mesa before 23 gives one invocation 65,535 iterations in total over all its loops and then "
             "ends them "
             "silently (measured on 22.3.6)"},
    QuirkRow{"vulkan", "llvmpipe", "", "23", quirk::subgroup_count_rounds_down, 1,
             "gl_NumSubgroups rounds down (measured on Mesa 22.3.6)"},
    QuirkRow{"vulkan", "llvmpipe", "25", "", quirk::elides_round_trips, 1,
             "float(float16_t(x)) is elided in spite of `precise` (measured on Mesa 25.0.7 and 26)"},
    QuirkRow{"vulkan", "llvmpipe", "", "", quirk::barriers_are_slow, 1,
             "shared memory with barriers runs at a tenth of one subgroup per workgroup (measured)"},
    QuirkRow{"vulkan", "swiftshader", "", "", quirk::barriers_are_slow, 1,
             "shared memory with barriers runs at a tenth of one subgroup per workgroup (measured)"},
    QuirkRow{"vulkan", "llvmpipe", "", "", quirk::loads_cost_per_element, 1,
             "lavapipe's generated code loads a vector element by element and lane by lane; read as half as "
             "many 64-bit elements, a product runs 1.5 to 2 times as fast (measured on 22.3.6 and 25.0.7)"},
    QuirkRow{"vulkan", "llvmpipe", "", "", quirk::compiles_at_first_dispatch, 1,
             "lavapipe compiles a pipeline at its first dispatch, 57 to 1775 ms (measured)"},
    QuirkRow{"vulkan", "llvmpipe", "", "", quirk::limits_are_not_enforced, 1,
             "lavapipe accepts descriptors and allocations beyond its limits (measured)"},
};

std::vector<unsigned long> version_numbers(std::string_view text) {
  std::vector<unsigned long> numbers;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (at != end) {
    unsigned long number = 0;
    const auto [next, code] = std::from_chars(at, end, number);
    if (code == std::errc{}) numbers.push_back(number);
    at = next == at ? at + 1 : next;
  }
  return numbers;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

bool matches(const QuirkRow& row, const DeviceInfo& info) {
  if (row.backend != info.backend) return false;
  if (lower(info.driver).find(row.driver) == std::string::npos &&
      lower(info.name).find(row.driver) == std::string::npos)
    return false;
  if (!row.from.empty() && compare_versions(info.driver_version, row.from) < 0) return false;
  return row.before.empty() || compare_versions(info.driver_version, row.before) < 0;
}

}  // namespace

int compare_versions(std::string_view left, std::string_view right) {
  const auto a = version_numbers(left);
  const auto b = version_numbers(right);
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const unsigned long x = i < a.size() ? a[i] : 0;
    const unsigned long y = i < b.size() ? b[i] : 0;
    if (x != y) return x < y ? -1 : 1;
  }
  return 0;
}

void add_known_quirks(DeviceInfo& info) {
  for (const QuirkRow& row : quirk_rows)
    if (matches(row, info) && !info.quirk(row.name))
      info.quirks.push_back({std::string(row.name), row.value, std::string(row.reason)});
}

}  // namespace halyard::hal
