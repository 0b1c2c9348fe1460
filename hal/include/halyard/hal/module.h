#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/base/result.h"
#include "halyard/hal/plugin.h"

namespace halyard::hal {

class Device;

/// One kernel as its emitter describes it; see HyKernelDesc for the contract of each field.
struct KernelDesc {
  std::string entry;
  std::array<std::uint32_t, 3> workgroup_size{1, 1, 1};
  std::uint32_t required_subgroup_size = 0;  ///< 0: any
  std::uint32_t buffer_count = 0;
  std::uint32_t scalar_bytes = 0;  ///< a multiple of 8
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t opaque_count = 0;
  std::uint64_t scratch_bytes = 0;    ///< cpu: per task
  std::uint64_t read_buffers = 0;     ///< bit i: reads buffer i
  std::uint64_t written_buffers = 0;  ///< bit i: writes buffer i
  bool buffers_by_address = false;    ///< spirv: HY_BINDING_DEVICE_ADDRESS
};

struct ModuleDesc {
  std::string format;  ///< "spirv", "llvm-ir", "thread-program", …; see HyModuleDesc
  std::vector<std::byte> bytes;
  std::vector<KernelDesc> kernels;
  std::string label;    ///< for profilers and messages
  std::string options;  ///< compiler options of the format
};

/// Where a module's native code came from.
enum class ModuleOrigin : std::uint8_t { compiled, disk_cache };

/// Loaded code of one device. Made by `Device::load_module`. Shared ownership: kernels and pending work keep
/// it alive. Immutable, so safe from any thread.
class Module {
 public:
  Module(std::shared_ptr<Device> device, HyModule* handle, std::vector<KernelDesc> kernels, std::string label,
         ModuleOrigin origin);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const std::shared_ptr<Device>& device() const { return device_; }
  std::span<const KernelDesc> kernels() const { return kernels_; }
  const std::string& label() const { return label_; }
  ModuleOrigin origin() const { return origin_; }
  HyModule* handle() const { return handle_; }

  /// The compiled form (format, bytes), loadable with no compiler. `unsupported` where a backend has none.
  struct Native {
    std::string format;
    std::vector<std::byte> bytes;
  };
  Result<Native> native() const;

 private:
  std::shared_ptr<Device> device_;
  HyModule* handle_;
  std::vector<KernelDesc> kernels_;
  std::string label_;
  ModuleOrigin origin_;
};

/// One kernel of a module: a small value.
class Kernel {
 public:
  Kernel() = default;
  Kernel(std::shared_ptr<Module> module, std::uint32_t index) : module_(std::move(module)), index_(index) {}
  /// The kernel named `entry`; the error lists the names that exist.
  static Result<Kernel> find(const std::shared_ptr<Module>& module, std::string_view entry);

  explicit operator bool() const { return module_ != nullptr; }
  const std::shared_ptr<Module>& module() const { return module_; }
  std::uint32_t index() const { return index_; }
  const KernelDesc& desc() const { return module_->kernels()[index_]; }

 private:
  std::shared_ptr<Module> module_;
  std::uint32_t index_ = 0;
};

/// Builds a scalar block: each value at its natural alignment, in the order of the kernel's declaration.
class ScalarBlock {
 public:
  template <class T>
  ScalarBlock& add(T value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
    append(&value, sizeof(T));
    return *this;
  }
  /// The bytes so far, padded with zeros to a multiple of 8.
  std::vector<std::byte> bytes() const;

 private:
  void append(const void* value, std::size_t size);
  std::vector<std::byte> bytes_;
};

}  // namespace halyard::hal
