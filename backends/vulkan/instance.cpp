#include "instance.h"
#include <dlfcn.h>
#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <mutex>
#include "error.h"

namespace halyard::vulkan {
namespace {

const HyHost* the_host = nullptr;
constexpr const char* validation_layer = "VK_LAYER_KHRONOS_validation";

Result<GlobalFunctions> open_library() {
  // Local symbols: a driver brings an LLVM of its own into this process.
  void* library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return fail(ErrorCode::not_found,
                "libvulkan.so.1 not found: install a Vulkan driver and the loader (Debian: libvulkan1)");
  GlobalFunctions vk;
  vk.GetInstanceProcAddr =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  if (!vk.GetInstanceProcAddr)
    return fail(ErrorCode::not_found,
                "libvulkan.so.1 exports no vkGetInstanceProcAddr: install a Vulkan loader");
#define HALYARD_LOAD(name)                                                                      \
  vk.name = reinterpret_cast<PFN_vk##name>(vk.GetInstanceProcAddr(VK_NULL_HANDLE, "vk" #name)); \
  if (!vk.name)                                                                                 \
    return fail(ErrorCode::not_found,                                                           \
                "the Vulkan loader has no vk" #name ": install a loader of Vulkan 1.2 or newer");
  HALYARD_VULKAN_GLOBAL_FUNCTIONS(HALYARD_LOAD)
#undef HALYARD_LOAD
  return vk;
}

bool has_layer(const GlobalFunctions& vk) {
  std::uint32_t count = 0;
  if (vk.EnumerateInstanceLayerProperties(&count, nullptr) < VK_SUCCESS) return false;
  std::vector<VkLayerProperties> layers(count);
  if (vk.EnumerateInstanceLayerProperties(&count, layers.data()) < VK_SUCCESS) return false;
  return std::any_of(layers.begin(), layers.end(), [](const VkLayerProperties& layer) {
    return std::strcmp(layer.layerName, validation_layer) == 0;
  });
}

}  // namespace

void set_host(const HyHost* host) {
  the_host = host;
}

const HyHost* host() {
  return the_host;
}

void log(std::int32_t level, const std::string& message) {
  if (the_host && the_host->log) the_host->log(the_host->user_data, level, "vulkan", message.c_str());
}

Result<GlobalFunctions> load_library() {
  static const Result<GlobalFunctions> library = open_library();
  return library;
}

Status Instance::load_functions(PFN_vkGetInstanceProcAddr get_proc_address) {
#define HALYARD_REQUIRED(name)                                                      \
  vk_.name = reinterpret_cast<PFN_vk##name>(get_proc_address(handle_, "vk" #name)); \
  if (!vk_.name)                                                                    \
    return fail(ErrorCode::not_found,                                               \
                "the Vulkan instance has no vk" #name ": create it with Vulkan 1.2 or newer");
#define HALYARD_OPTIONAL(name) \
  vk_.name = reinterpret_cast<PFN_vk##name>(get_proc_address(handle_, "vk" #name));
  HALYARD_VULKAN_INSTANCE_FUNCTIONS(HALYARD_REQUIRED, HALYARD_OPTIONAL)
#undef HALYARD_REQUIRED
#undef HALYARD_OPTIONAL
  return {};
}

Result<std::shared_ptr<Instance>> Instance::create(bool validation) {
  HALYARD_ASSIGN(GlobalFunctions vk, load_library());
  std::uint32_t loader_version = VK_API_VERSION_1_0;
  HALYARD_TRY(check("vkEnumerateInstanceVersion", vk.EnumerateInstanceVersion(&loader_version)));
  if (loader_version < VK_API_VERSION_1_2)
    return fail(ErrorCode::not_found,
                fmt::format("the Vulkan loader is of version {}.{}; install one of 1.2 or newer",
                            VK_API_VERSION_MAJOR(loader_version), VK_API_VERSION_MINOR(loader_version)));
  auto instance = std::shared_ptr<Instance>(new Instance);
  instance->api_version_ = std::min<std::uint32_t>(loader_version, VK_API_VERSION_1_3);
  instance->api_version_ = VK_MAKE_API_VERSION(0, 1, VK_API_VERSION_MINOR(instance->api_version_), 0);

  VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                .pApplicationName = "halyard",
                                .pEngineName = "halyard",
                                .apiVersion = instance->api_version_};
  VkInstanceCreateInfo info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                            .pApplicationInfo = &application};
  VkDebugUtilsMessengerCreateInfoEXT messenger{
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
      .messageSeverity =
          VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
      .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
      .pfnUserCallback = &Instance::on_message,
      .pUserData = instance.get()};
  VkValidationFeatureEnableEXT enabled = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT features{.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                   .enabledValidationFeatureCount = 1,
                                   .pEnabledValidationFeatures = &enabled};
  const char* extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
  bool with_layer = validation && has_layer(vk);
  if (with_layer) {
    info.pNext = &features;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &validation_layer;
    info.enabledExtensionCount = 2;
    info.ppEnabledExtensionNames = extensions;
  }
  HALYARD_TRY(check("vkCreateInstance", vk.CreateInstance(&info, nullptr, &instance->handle_)));
  instance->is_ours_ = true;
  HALYARD_TRY(instance->load_functions(vk.GetInstanceProcAddr));
  if (with_layer && instance->vk_.CreateDebugUtilsMessengerEXT)
    HALYARD_TRY(check("vkCreateDebugUtilsMessengerEXT",
                      instance->vk_.CreateDebugUtilsMessengerEXT(instance->handle_, &messenger, nullptr,
                                                                 &instance->messenger_)));
  return instance;
}

Result<std::shared_ptr<Instance>> Instance::wrap(VkInstance handle, std::uint32_t api_version,
                                                 PFN_vkGetInstanceProcAddr get_proc_address) {
  if (!get_proc_address) {
    HALYARD_ASSIGN(GlobalFunctions vk, load_library());
    get_proc_address = vk.GetInstanceProcAddr;
  }
  auto instance = std::shared_ptr<Instance>(new Instance);
  instance->handle_ = handle;
  instance->api_version_ = api_version;
  HALYARD_TRY(instance->load_functions(get_proc_address));
  return instance;
}

Result<std::shared_ptr<Instance>> Instance::shared() {
  static std::mutex mutex;
  // Kept to the end of the process on purpose: a driver's library must not be unloaded by a static
  // destructor.
  static auto* kept = new std::shared_ptr<Instance>;
  std::lock_guard lock(mutex);
  if (!*kept) {
    HALYARD_ASSIGN(*kept, create(false));
  }
  return *kept;
}

Instance::~Instance() {
  if (!is_ours_ || !vk_.DestroyInstance) return;
  if (messenger_) vk_.DestroyDebugUtilsMessengerEXT(handle_, messenger_, nullptr);
  vk_.DestroyInstance(handle_, nullptr);
}

VkBool32 VKAPI_PTR Instance::on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                        VkDebugUtilsMessageTypeFlagsEXT,
                                        const VkDebugUtilsMessengerCallbackDataEXT* data, void* self) {
  static_cast<Instance*>(self)->messages_.fetch_add(1);
  bool is_error = (severity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT) != 0;
  log(is_error ? HY_LOG_ERROR : HY_LOG_WARNING, data->pMessage ? data->pMessage : "validation layer");
  return VK_FALSE;
}

Result<std::vector<VkPhysicalDevice>> Instance::physical_devices() const {
  std::uint32_t count = 0;
  HALYARD_TRY(check("vkEnumeratePhysicalDevices", vk_.EnumeratePhysicalDevices(handle_, &count, nullptr)));
  std::vector<VkPhysicalDevice> all(count);
  HALYARD_TRY(check("vkEnumeratePhysicalDevices", vk_.EnumeratePhysicalDevices(handle_, &count, all.data())));
  std::erase_if(all, [&](VkPhysicalDevice device) {
    VkPhysicalDeviceProperties properties;
    vk_.GetPhysicalDeviceProperties(device, &properties);
    std::uint32_t families = 0;
    vk_.GetPhysicalDeviceQueueFamilyProperties(device, &families, nullptr);
    std::vector<VkQueueFamilyProperties> queues(families);
    vk_.GetPhysicalDeviceQueueFamilyProperties(device, &families, queues.data());
    bool computes = std::any_of(queues.begin(), queues.end(), [](const VkQueueFamilyProperties& family) {
      return (family.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
    });
    return properties.apiVersion < VK_API_VERSION_1_2 || !computes;
  });
  return all;
}

}  // namespace halyard::vulkan
