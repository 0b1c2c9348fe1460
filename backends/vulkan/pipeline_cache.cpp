#include "pipeline_cache.h"
#include <fmt/format.h>
#include <unistd.h>
#include <atomic>
#include <cstring>
#include <fstream>
#include <span>
#include <vector>
#include "device_info.h"
#include "error.h"

namespace halyard::vulkan {
namespace {

/// Before the driver's own data, which has a header of its own that the driver checks.
struct FileHeader {
  char magic[8] = {'H', 'Y', 'V', 'K', 'P', 'C', '0', '1'};
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
};

constexpr std::uintmax_t largest_file = 256u << 20;

/// FNV-1a, 64 bits: against damage, not against malice; the folder is the user's own.
std::uint64_t checksum_of(std::span<const char> data) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (char byte : data) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  return hash;
}

/// The data kept by an earlier process, or nothing.
std::vector<char> read(const std::filesystem::path& file) {
  std::error_code failed;
  std::uintmax_t size = std::filesystem::file_size(file, failed);
  if (failed || size < sizeof(FileHeader) || size > largest_file) return {};
  std::ifstream in(file, std::ios::binary);
  FileHeader expected, header;
  if (!in.read(reinterpret_cast<char*>(&header), sizeof header)) return {};
  if (std::memcmp(header.magic, expected.magic, sizeof header.magic) != 0) return {};
  if (header.bytes != size - sizeof header) return {};
  std::vector<char> data(header.bytes);
  if (!in.read(data.data(), static_cast<std::streamsize>(data.size()))) return {};
  return checksum_of(data) == header.checksum ? data : std::vector<char>{};
}

}  // namespace

Result<std::unique_ptr<PipelineCache>> PipelineCache::open(VkDevice device, const DeviceFunctions& vk,
                                                           const DeviceFacts& facts,
                                                           const std::filesystem::path& folder) {
  auto cache = std::unique_ptr<PipelineCache>(new PipelineCache(device, vk));
  std::vector<char> kept;
  if (!folder.empty()) {
    std::string name;
    for (std::uint8_t byte : facts.properties.pipelineCacheUUID) name += fmt::format("{:02x}", byte);
    cache->file_ =
        folder / "vulkan" /
        fmt::format("{:04x}-{:04x}-{}.pipelines", facts.properties.vendorID, facts.properties.deviceID, name);
    kept = read(cache->file_);
  }
  VkPipelineCacheCreateInfo info{.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                 .initialDataSize = kept.size(),
                                 .pInitialData = kept.data()};
  VkResult result = vk.CreatePipelineCache(device, &info, nullptr, &cache->handle_);
  if (result != VK_SUCCESS && !kept.empty()) {
    info.initialDataSize = 0;
    kept.clear();
    result = vk.CreatePipelineCache(device, &info, nullptr, &cache->handle_);
  }
  HALYARD_TRY(check("vkCreatePipelineCache", result));
  cache->saved_bytes_ = kept.size();
  return cache;
}

PipelineCache::~PipelineCache() {
  if (handle_) vk_.DestroyPipelineCache(device_, handle_, nullptr);
}

void PipelineCache::save() {
  if (file_.empty()) return;
  std::lock_guard lock(mutex_);
  std::size_t size = 0;
  if (vk_.GetPipelineCacheData(device_, handle_, &size, nullptr) != VK_SUCCESS || size <= saved_bytes_)
    return;
  std::vector<char> data(size);
  if (vk_.GetPipelineCacheData(device_, handle_, &size, data.data()) != VK_SUCCESS) return;
  data.resize(size);
  FileHeader header;
  header.bytes = size;
  header.checksum = checksum_of(data);

  static std::atomic<unsigned> number{0};
  std::error_code failed;
  std::filesystem::create_directories(file_.parent_path(), failed);
  std::filesystem::path temporary = file_;
  temporary += fmt::format(".{}-{}", getpid(), number++);
  std::ofstream out(temporary, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&header), sizeof header);
  out.write(data.data(), static_cast<std::streamsize>(data.size()));
  out.close();
  if (out) std::filesystem::rename(temporary, file_, failed);
  if (!out || failed)
    std::filesystem::remove(temporary, failed);
  else
    saved_bytes_ = size;
}

}  // namespace halyard::vulkan
