// Cached facts and rates are JSON from disk: any bytes give an answer or nothing.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "measured_facts.h"

using namespace halyard::hal;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto facts = read_numeric_facts(text))
    if (read_numeric_facts(write_numeric_facts(*facts)) != facts) std::abort();
  if (const auto rates = read_measurements(text))
    if (!read_measurements(write_measurements(*rates))) std::abort();
  return 0;
}
