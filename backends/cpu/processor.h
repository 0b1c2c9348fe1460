#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace halyard::cpu {

/// What this machine's processor is and has, from CPUID, sysfs and the operating system. Found without LLVM.
struct Processor {
  std::string vendor;  ///< "AuthenticAMD", "GenuineIntel", …
  std::string brand;   ///< the name for people
  unsigned family = 0, model = 0;
  std::vector<std::string> features;  ///< LLVM's names, of those that the operating system lets us use
  std::uint32_t vector_register_bytes = 16;
  std::uint32_t vector_registers = 16;
  std::uint32_t cache_line_bytes = 64;
  std::uint32_t l1_bytes = 0;  ///< data, per core
  std::uint64_t l2_bytes = 0, l3_bytes = 0;
  std::uint64_t memory_bytes = 0;
  bool has(const char* feature) const;
};

Processor find_processor();

/// Bytes of memory that could be allocated now without swapping, 0 if unknown.
std::uint64_t available_memory_bytes();

}  // namespace halyard::cpu
