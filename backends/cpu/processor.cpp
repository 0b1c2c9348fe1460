#include "processor.h"
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <sstream>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace halyard::cpu {
namespace {

#if defined(__x86_64__)
// Names that GCC and LLVM share; the compiler's own runtime asks CPUID and the operating system (XCR0).
#define HALYARD_X86_FEATURES(row)                                                                      \
  row("sse4.1") row("sse4.2") row("avx") row("avx2") row("fma") row("f16c") row("bmi") row("bmi2")     \
      row("avx512f") row("avx512cd") row("avx512bw") row("avx512dq") row("avx512vl") row("avx512vnni") \
          row("avx512bf16") row("avx512fp16")

void identify(Processor& processor) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d)) {
    char vendor[13] = {};
    std::memcpy(vendor, &b, 4);
    std::memcpy(vendor + 4, &d, 4);
    std::memcpy(vendor + 8, &c, 4);
    processor.vendor = vendor;
  }
  if (__get_cpuid(1, &a, &b, &c, &d)) {
    processor.family = ((a >> 8) & 15u) + (((a >> 8) & 15u) == 15 ? (a >> 20) & 255u : 0);
    processor.model = ((a >> 4) & 15u) | ((a >> 12) & 0xf0u);
  }
  char brand[49] = {};
  for (unsigned i = 0; i < 3; ++i) {
    if (!__get_cpuid(0x80000002u + i, &a, &b, &c, &d)) break;
    const std::array<unsigned, 4> words{a, b, c, d};
    std::memcpy(brand + 16 * i, words.data(), 16);
  }
  processor.brand = brand;
  while (!processor.brand.empty() && processor.brand.back() == ' ') processor.brand.pop_back();

  __builtin_cpu_init();
#define HALYARD_FEATURE_ROW(feature) \
  if (__builtin_cpu_supports(feature)) processor.features.emplace_back(feature);
  HALYARD_X86_FEATURES(HALYARD_FEATURE_ROW)
#undef HALYARD_FEATURE_ROW
  bool wide = processor.has("avx512f") && processor.has("avx512vl") && processor.has("avx512bw");
  processor.vector_register_bytes = wide ? 64 : processor.has("avx2") ? 32 : 16;
  processor.vector_registers = wide ? 32 : 16;
}
#else
void identify(Processor& processor) {
  processor.vendor = "unknown";
  processor.vector_registers = 32;
}
#endif

/// "512K" of a sysfs file, in bytes.
std::uint64_t read_size(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  char unit = 0;
  if (!(file >> number)) return 0;
  file >> unit;
  return unit == 'K' ? number << 10 : unit == 'M' ? number << 20 : number;
}

std::string read_word(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

void find_caches(Processor& processor) {
  for (unsigned i = 0; i < 8; ++i) {
    std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    std::string level = read_word(folder + "level");
    if (level.empty()) break;
    if (read_word(folder + "type") == "Instruction") continue;
    std::uint64_t bytes = read_size(folder + "size");
    if (level == "1") processor.l1_bytes = static_cast<std::uint32_t>(bytes);
    if (level == "2") processor.l2_bytes = bytes;
    if (level == "3") processor.l3_bytes = bytes;
    if (std::uint64_t line = read_size(folder + "coherency_line_size"))
      processor.cache_line_bytes = static_cast<std::uint32_t>(line);
  }
  auto from_system = [](int key) {
    long value = sysconf(key);
    return static_cast<std::uint64_t>(std::max(value, 0l));
  };
  if (processor.l1_bytes == 0)
    processor.l1_bytes = static_cast<std::uint32_t>(from_system(_SC_LEVEL1_DCACHE_SIZE));
  if (processor.l2_bytes == 0) processor.l2_bytes = from_system(_SC_LEVEL2_CACHE_SIZE);
  if (processor.l3_bytes == 0) processor.l3_bytes = from_system(_SC_LEVEL3_CACHE_SIZE);
}

}  // namespace

bool Processor::has(const char* feature) const {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

Processor find_processor() {
  Processor processor;
  identify(processor);
  if (processor.brand.empty()) processor.brand = "CPU";
  find_caches(processor);
  processor.memory_bytes =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return processor;
}

std::uint64_t available_memory_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string key;
    std::uint64_t kilobytes = 0;
    if (words >> key >> kilobytes && key == "MemAvailable:") return kilobytes << 10;
  }
  return 0;
}

}  // namespace halyard::cpu
