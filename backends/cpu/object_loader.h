#pragma once

#include <halyard/base/result.h>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::cpu {

/// Machine code made ready to run from an ELF relocatable object for x86-64, as LLVM writes it
/// (position-independent, small code model). Freshly compiled and cached kernels go through this same door.
///
/// Nothing in the bytes is trusted: sizes, offsets, symbols and relocations are checked, and whatever is not
/// known here (writable data, thread-local data, other relocations, undefined functions but memcpy, memset,
/// memmove) is an error. The code itself cannot be checked: load only what was compiled here or comes from a
/// verified cache.
///
/// Memory is never writable and executable at once. Movable; the code goes when the object does. Reading it
/// is thread-safe.
class LoadedObject {
 public:
  /// Errors: `corrupt_data` for a damaged or hostile object, `unsupported` for another machine's or for
  /// features listed above, `out_of_memory` or `io_error` if the operating system refuses memory or
  /// permissions.
  static Result<LoadedObject> load(std::span<const std::byte> object);

  LoadedObject(LoadedObject&& other) noexcept;
  LoadedObject& operator=(LoadedObject&& other) noexcept;
  LoadedObject(const LoadedObject&) = delete;
  LoadedObject& operator=(const LoadedObject&) = delete;
  ~LoadedObject();

  /// The address of a global function, or null.
  void* function(std::string_view name) const;
  std::size_t mapped_bytes() const { return mapped_; }

 private:
  friend class ObjectReader;
  struct Function {
    std::string name;
    void* address;
  };
  LoadedObject() = default;

  std::byte* memory_ = nullptr;
  std::size_t mapped_ = 0;
  std::vector<Function> functions_;
};

}  // namespace halyard::cpu
