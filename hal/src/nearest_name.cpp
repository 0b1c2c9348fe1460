#include "halyard/hal/nearest_name.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace halyard::hal {
namespace {

std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_name(std::string_view text, std::span<const std::string> candidates) {
  text = text.substr(0, 100);
  std::string best;
  std::size_t fewest = std::max<std::size_t>(1, text.size() / 2) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edits(text, candidate);
    if (distance >= fewest) continue;
    fewest = distance;
    best = candidate;
  }
  return best;
}

}  // namespace halyard::hal
