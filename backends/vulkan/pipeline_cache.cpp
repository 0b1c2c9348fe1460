#include "pipeline_cache.h"
#include <fmt/format.h>
#include <cstring>

namespace halyard::vulkan {
namespace {

/// Before the words and the driver's data.
struct ImageHeader {
  std::uint64_t word_count = 0;
  std::uint64_t driver_bytes = 0;
};

/// Whether data of vkGetPipelineCacheData is this driver's (VkPipelineCacheHeaderVersionOne).
bool is_of(const VkPhysicalDeviceProperties& properties, std::span<const std::byte> data) {
  VkPipelineCacheHeaderVersionOne header;
  if (data.size() < sizeof header) return false;
  std::memcpy(&header, data.data(), sizeof header);
  return header.vendorID == properties.vendorID && header.deviceID == properties.deviceID &&
         std::memcmp(header.pipelineCacheUUID, properties.pipelineCacheUUID, VK_UUID_SIZE) == 0;
}

}  // namespace

std::vector<std::byte> pack_image(std::span<const std::uint32_t> words,
                                  std::span<const std::byte> driver_data) {
  const ImageHeader header{words.size(), driver_data.size()};
  std::vector<std::byte> bytes;
  for (std::span<const std::byte> part :
       {std::as_bytes(std::span(&header, 1)), std::as_bytes(words), driver_data})
    bytes.insert(bytes.end(), part.begin(), part.end());
  return bytes;
}

Result<PipelineImage> unpack_image(std::span<const std::byte> bytes,
                                   const VkPhysicalDeviceProperties& properties) {
  ImageHeader header;
  if (bytes.size() >= sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
  const std::uint64_t rest = bytes.size() - std::min(bytes.size(), sizeof header);
  if (bytes.size() < sizeof header || header.word_count > rest / sizeof(std::uint32_t) ||
      header.driver_bytes != rest - header.word_count * sizeof(std::uint32_t))
    return fail(ErrorCode::corrupt_data,
                fmt::format("vulkan: module_create: {} bytes are no {}", bytes.size(), native_format));
  PipelineImage image;
  image.words.resize(header.word_count);
  const std::span<const std::byte> words =
      bytes.subspan(sizeof header, header.word_count * sizeof(std::uint32_t));
  if (!words.empty()) std::memcpy(image.words.data(), words.data(), words.size());
  const std::span<const std::byte> data = bytes.last(header.driver_bytes);
  if (!data.empty() && !is_of(properties, data))
    return fail(ErrorCode::corrupt_data,
                "vulkan: module_create: the compiled pipelines are another driver's");
  image.driver_data.assign(data.begin(), data.end());
  return image;
}

PipelineCache::~PipelineCache() {
  if (handle_) vk_.DestroyPipelineCache(device_, handle_, nullptr);
}

VkResult PipelineCache::open(std::span<const std::byte> kept) {
  const VkPipelineCacheCreateInfo info{.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                       .initialDataSize = kept.size(),
                                       .pInitialData = kept.data()};
  return vk_.CreatePipelineCache(device_, &info, nullptr, &handle_);
}

std::vector<std::byte> PipelineCache::data() const {
  std::size_t size = 0;
  if (vk_.GetPipelineCacheData(device_, handle_, &size, nullptr) != VK_SUCCESS) return {};
  std::vector<std::byte> data(size);
  if (size != 0 && vk_.GetPipelineCacheData(device_, handle_, &size, data.data()) != VK_SUCCESS) return {};
  data.resize(size);
  return data;
}

}  // namespace halyard::vulkan
