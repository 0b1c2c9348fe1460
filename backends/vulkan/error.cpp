#include "error.h"
#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <cstring>

namespace halyard::vulkan {
namespace {

struct ResultRow {
  VkResult result;
  std::string_view name;
  ErrorCode code;
  std::string_view remedy;
};

constexpr ResultRow result_rows[] = {
    {VK_NOT_READY, "VK_NOT_READY", ErrorCode::internal, ""},
    {VK_TIMEOUT, "VK_TIMEOUT", ErrorCode::timeout, ""},
    {VK_ERROR_OUT_OF_HOST_MEMORY, "VK_ERROR_OUT_OF_HOST_MEMORY", ErrorCode::out_of_memory,
     "free host memory"},
    {VK_ERROR_OUT_OF_DEVICE_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY", ErrorCode::out_of_memory,
     "free buffers, or use smaller ones"},
    {VK_ERROR_INITIALIZATION_FAILED, "VK_ERROR_INITIALIZATION_FAILED", ErrorCode::not_found,
     "check the Vulkan driver's installation with vulkaninfo"},
    {VK_ERROR_DEVICE_LOST, "VK_ERROR_DEVICE_LOST", ErrorCode::device_lost,
     "look for a kernel that runs too long or out of bounds"},
    {VK_ERROR_MEMORY_MAP_FAILED, "VK_ERROR_MEMORY_MAP_FAILED", ErrorCode::out_of_memory,
     "free host address space"},
    {VK_ERROR_LAYER_NOT_PRESENT, "VK_ERROR_LAYER_NOT_PRESENT", ErrorCode::not_found,
     "install the Vulkan validation layers, or unset HALYARD_VALIDATE"},
    {VK_ERROR_EXTENSION_NOT_PRESENT, "VK_ERROR_EXTENSION_NOT_PRESENT", ErrorCode::unsupported, ""},
    {VK_ERROR_FEATURE_NOT_PRESENT, "VK_ERROR_FEATURE_NOT_PRESENT", ErrorCode::unsupported, ""},
    {VK_ERROR_INCOMPATIBLE_DRIVER, "VK_ERROR_INCOMPATIBLE_DRIVER", ErrorCode::not_found,
     "install a Vulkan 1.2 driver"},
    {VK_ERROR_TOO_MANY_OBJECTS, "VK_ERROR_TOO_MANY_OBJECTS", ErrorCode::out_of_memory, "free buffers"},
    {VK_ERROR_FRAGMENTED_POOL, "VK_ERROR_FRAGMENTED_POOL", ErrorCode::out_of_memory, ""},
    {VK_ERROR_OUT_OF_POOL_MEMORY, "VK_ERROR_OUT_OF_POOL_MEMORY", ErrorCode::out_of_memory, ""},
    {VK_ERROR_INVALID_EXTERNAL_HANDLE, "VK_ERROR_INVALID_EXTERNAL_HANDLE", ErrorCode::invalid_argument,
     "pass a handle that the same driver exported"},
    {VK_ERROR_INVALID_SHADER_NV, "VK_ERROR_INVALID_SHADER_NV", ErrorCode::compile_error, ""},
    {VK_ERROR_UNKNOWN, "VK_ERROR_UNKNOWN", ErrorCode::internal, ""},
};

const ResultRow* find(VkResult result) {
  const auto* row = std::find_if(std::begin(result_rows), std::end(result_rows),
                                 [&](const ResultRow& candidate) { return candidate.result == result; });
  return row == std::end(result_rows) ? nullptr : row;
}

}  // namespace

std::string_view name(VkResult result) {
  const ResultRow* row = find(result);
  return row ? row->name : "an unknown VkResult";
}

tl::unexpected<Error> vulkan_failure(std::string_view call, VkResult result) {
  const ResultRow* row = find(result);
  std::string message =
      fmt::format("vulkan: {} failed with {} ({})", call, name(result), static_cast<int>(result));
  if (row && !row->remedy.empty()) message += fmt::format("; {}", row->remedy);
  return fail(row ? row->code : ErrorCode::internal, std::move(message));
}

}  // namespace halyard::vulkan
