#include "backend_module.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "halyard/hal/disk_cache.h"
#include "halyard/hal/log.h"

namespace halyard::hal {
namespace {

void* host_allocate(void*, std::size_t bytes, std::size_t alignment) {
  void* memory = nullptr;
  return posix_memalign(&memory, std::max(alignment, sizeof(void*)), std::max<std::size_t>(bytes, 1)) == 0
             ? memory
             : nullptr;
}

void host_release(void*, void* memory, std::size_t, std::size_t) {
  std::free(memory);
}

void host_log(void*, std::int32_t level, const char* backend, const char* message) {
  log(static_cast<LogLevel>(std::clamp(level, 0, 3)), backend != nullptr ? backend : "backend",
      message != nullptr ? message : "");
}

const char* host_cache_folder(void*) {
  // Made once; what a backend cannot write there it works without.
  static const auto* folder = [] {
    auto* path = new std::string;
    if (!DiskCache::shared().enabled()) return path;
    const auto wanted = DiskCache::shared().folder() / "backends";
    std::error_code code;
    std::filesystem::create_directories(wanted, code);
    if (!code) *path = wanted.string();
    return path;
  }();
  return folder->empty() ? nullptr : folder->c_str();
}

/// A file mapped for reading, for checks before the loader sees it.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return;
    struct stat facts{};
    if (::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode)) {
      found_ = true;
      size_ = static_cast<std::size_t>(facts.st_size);
      if (size_ > 0) data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    }
    ::close(file);
  }
  ~MappedFile() {
    if (data_ != MAP_FAILED) ::munmap(data_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  bool found() const { return found_; }
  std::span<const std::byte> bytes() const {
    if (data_ == MAP_FAILED) return {};
    return {static_cast<const std::byte*>(data_), size_};
  }

 private:
  void* data_ = MAP_FAILED;
  std::size_t size_ = 0;
  bool found_ = false;
};

bool valid_name(const char* name) {
  const std::string_view text = name != nullptr ? name : "";
  return !text.empty() && text.size() < 64 && text != "auto" &&
         std::all_of(
             text.begin(), text.end(),
             [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; });
}

/// The first required function that a table lacks, or nullptr.
const char* missing_required(const HyBackend& table) {
  struct Row {
    const char* name;
    bool present;
  };
  const Row rows[] = {
      {"enumerate", table.enumerate != nullptr},
      {"device_open", table.device_open != nullptr},
      {"device_close", table.device_close != nullptr},
      {"device_info", table.device_info != nullptr},
      {"device_status", table.device_status != nullptr},
      {"buffer_create", table.buffer_create != nullptr},
      {"buffer_destroy", table.buffer_destroy != nullptr},
      {"buffer_map", table.buffer_map != nullptr},
      {"queue_create", table.queue_create != nullptr},
      {"queue_destroy", table.queue_destroy != nullptr},
      {"queue_timeline", table.queue_timeline != nullptr},
      {"queue_submit", table.queue_submit != nullptr},
      {"timeline_wait", table.timeline_wait != nullptr},
      {"timeline_query", table.timeline_query != nullptr},
      {"timeline_error", table.timeline_error != nullptr},
      {"module_create", table.module_create != nullptr},
      {"module_destroy", table.module_destroy != nullptr},
  };
  for (const Row& row : rows)
    if (!row.present) return row.name;
  return nullptr;
}

}  // namespace

const HyHost* host_interface() {
  static const HyHost host = {sizeof(HyHost), HY_ABI_VERSION, nullptr,          host_allocate,
                              host_release,   host_log,       host_cache_folder};
  return &host;
}

Result<std::shared_ptr<const HyBackend>> check_backend_table(const HyBackend* table,
                                                             const std::string& subject) {
  if (table == nullptr)
    return fail(ErrorCode::unsupported,
                fmt::format("{}: the backend refuses a host of ABI {}: use a backend built for "
                            "this version of Halyard",
                            subject, HY_ABI_VERSION));
  auto copy = std::make_shared<HyBackend>();
  std::memcpy(copy.get(), table, std::min<std::size_t>(table->size, sizeof(HyBackend)));
  copy->size = sizeof(HyBackend);
  if (copy->abi_version != HY_ABI_VERSION)
    return fail(ErrorCode::unsupported, fmt::format("{}: the backend has ABI {}, this Halyard {}: rebuild it",
                                                    subject, copy->abi_version, HY_ABI_VERSION));
  if (!valid_name(copy->name))
    return fail(ErrorCode::unsupported, subject + ": the backend's name cannot stand in a URI");
  if (const char* missing = missing_required(*copy))
    return fail(ErrorCode::unsupported,
                fmt::format("{}: the backend lacks the required function {}", subject, missing));
  return std::shared_ptr<const HyBackend>(std::move(copy));
}

Result<std::shared_ptr<const HyBackend>> enter_backend(HyBackendEntry entry, const std::string& subject) {
  return check_backend_table(entry(HY_ABI_VERSION, host_interface()), subject);
}

Result<std::shared_ptr<const HyBackend>> open_backend_module(const std::filesystem::path& path) {
  const std::string subject = path.string();
  {
    const MappedFile file(path);
    if (!file.found()) return fail(ErrorCode::not_found, subject + ": no such file");
    HALYARD_TRY(check_module_image(file.bytes(), subject));
  }
  // Local symbols: two LLVMs may meet in one process, the cpu backend's and a Vulkan driver's.
  const auto absolute = std::filesystem::absolute(path);
  void* const library = ::dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    return fail(ErrorCode::not_found,
                fmt::format("{}: cannot be loaded: {}", subject, reason ? reason : "unknown"));
  }
  auto entry = reinterpret_cast<HyBackendEntry>(::dlsym(library, "halyard_backend_entry"));
  if (entry == nullptr) {
    ::dlclose(library);
    return fail(ErrorCode::unsupported,
                subject + ": not a Halyard backend: it exports no halyard_backend_entry");
  }
  return enter_backend(entry,
                       subject);  // never closed: its devices and threads may live until the process ends
}

}  // namespace halyard::hal
