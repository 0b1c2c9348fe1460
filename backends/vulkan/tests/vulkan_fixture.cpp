#include "vulkan_fixture.h"
#include <dlfcn.h>
#include <spirv-tools/libspirv.h>
#include <cstdio>
#include <cstdlib>

namespace halyard::vulkan::tests {
namespace {

void* allocate(void*, std::size_t bytes, std::size_t alignment) {
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void release(void*, void* memory, std::size_t, std::size_t) {
  std::free(memory);
}

void log(void*, std::int32_t level, const char* backend, const char* message) {
  if (level >= HY_LOG_WARNING) std::fprintf(stderr, "%s: %s\n", backend, message);
}

const char* no_cache_folder(void*) {
  return nullptr;
}

}  // namespace

const HyBackend& backend() {
  static const HyHost host{sizeof(HyHost), HY_ABI_VERSION, nullptr,         &allocate,
                           &release,       &log,           &no_cache_folder};
  static const HyBackend* table = [] {
    void* library = dlopen(HALYARD_VULKAN_MODULE, RTLD_NOW | RTLD_LOCAL);
    REQUIRE_MESSAGE(library != nullptr, dlerror());
    auto entry = reinterpret_cast<HyBackendEntry>(dlsym(library, "halyard_backend_entry"));
    bool has_entry = entry != nullptr;
    REQUIRE(has_entry);
    return entry(HY_ABI_VERSION, &host);
  }();
  REQUIRE(table != nullptr);
  return *table;
}

bool has_device() {
  HyError error = no_error();
  std::uint32_t count = 0;
  if (backend().enumerate(nullptr, 0, &count, &error) == HY_OK) return true;
  const char* promised = std::getenv("HALYARD_TEST_BACKENDS");
  CHECK_MESSAGE((!promised || !std::strstr(promised, "vulkan")), error.message);
  MESSAGE("skipped: no Vulkan driver (" << error.message << ")");
  return false;
}

std::vector<std::uint32_t> assembled(std::string_view text) {
  spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_2);
  spv_binary binary = nullptr;
  spv_diagnostic diagnostic = nullptr;
  spv_result_t result = spvTextToBinary(context, text.data(), text.size(), &binary, &diagnostic);
  REQUIRE_MESSAGE(result == SPV_SUCCESS, (diagnostic ? diagnostic->error : "?"));
  std::vector<std::uint32_t> words(binary->code, binary->code + binary->wordCount);
  spvBinaryDestroy(binary);
  spvContextDestroy(context);
  return words;
}

std::vector<std::uint32_t> add_kernel(std::uint32_t scalar_bytes, bool by_buffer) {
  std::string storage = by_buffer ? "StorageBuffer" : "PushConstant";
  std::string text = R"(
    OpCapability Shader
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %main "add" %lane %group %in %out %scalars
    OpExecutionMode %main LocalSize 32 1 1
    OpDecorate %lane BuiltIn LocalInvocationIndex
    OpDecorate %group BuiltIn WorkgroupId
    OpDecorate %floats ArrayStride 4
    OpDecorate %block Block
    OpMemberDecorate %block 0 Offset 0
    OpDecorate %in DescriptorSet 0
    OpDecorate %in Binding 0
    OpDecorate %in NonWritable
    OpDecorate %out DescriptorSet 0
    OpDecorate %out Binding 1
    OpDecorate %scalar_block Block
    OpMemberDecorate %scalar_block 0 Offset )" +
                     std::to_string(scalar_bytes - 4) + "\n";
  if (by_buffer) text += "OpDecorate %scalars DescriptorSet 0\nOpDecorate %scalars Binding 2\n";
  text += R"(
    %void = OpTypeVoid
    %function = OpTypeFunction %void
    %float = OpTypeFloat 32
    %uint = OpTypeInt 32 0
    %uint3 = OpTypeVector %uint 3
    %zero = OpConstant %uint 0
    %width = OpConstant %uint 32
    %floats = OpTypeRuntimeArray %float
    %block = OpTypeStruct %floats
    %block_pointer = OpTypePointer StorageBuffer %block
    %float_pointer = OpTypePointer StorageBuffer %float
    %in = OpVariable %block_pointer StorageBuffer
    %out = OpVariable %block_pointer StorageBuffer
    %scalar_block = OpTypeStruct %float
    %scalars_pointer = OpTypePointer )" +
          storage + R"( %scalar_block
    %scalar_pointer = OpTypePointer )" +
          storage + R"( %float
    %scalars = OpVariable %scalars_pointer )" +
          storage + R"(
    %uint_in = OpTypePointer Input %uint
    %uint3_in = OpTypePointer Input %uint3
    %lane = OpVariable %uint_in Input
    %group = OpVariable %uint3_in Input
    %main = OpFunction %void None %function
    %entry = OpLabel
    %groups = OpLoad %uint3 %group
    %x = OpCompositeExtract %uint %groups 0
    %first = OpIMul %uint %x %width
    %number = OpLoad %uint %lane
    %i = OpIAdd %uint %first %number
    %from = OpAccessChain %float_pointer %in %zero %i
    %value = OpLoad %float %from
    %place = OpAccessChain %scalar_pointer %scalars %zero
    %addend = OpLoad %float %place
    %sum = OpFAdd %float %value %addend
    %to = OpAccessChain %float_pointer %out %zero %i
    OpStore %to %sum
    OpReturn
    OpFunctionEnd)";
  return assembled(text);
}

Device::Device() {
  HyDeviceDesc desc{.size = sizeof desc, .debug = 1};
  REQUIRE_OK(backend().device_open(&desc, &handle, &error));
  info.size = sizeof info;
  REQUIRE_OK(backend().device_info(handle, &info, &error));
  queue = make_queue();
}

Device::~Device() {
  backend().queue_destroy(queue);
  HyProperty messages{.size = sizeof messages};
  backend().device_property(handle, "vulkan.validation_messages", &messages, nullptr);
  CHECK(messages.integer == 0);
  backend().device_close(handle);
}

HyQueue* Device::make_queue() const {
  HyQueueDesc desc{.size = sizeof desc};
  HyQueue* made = nullptr;
  REQUIRE_OK(backend().queue_create(handle, &desc, &made, &error));
  return made;
}

HyBuffer* Device::make_buffer(std::uint64_t bytes) const {
  HyBufferDesc desc{.size = sizeof desc, .memory = HY_MEMORY_READBACK, .bytes = bytes};
  HyBuffer* buffer = nullptr;
  REQUIRE_OK(backend().buffer_create(handle, &desc, &buffer, &error));
  return buffer;
}

void* Device::pointer(HyBuffer* buffer) {
  void* result = nullptr;
  REQUIRE_OK(backend().buffer_map(buffer, &result, &error));
  return result;
}

HyKernelDesc add_kernel_desc(std::uint32_t scalar_bytes) {
  return {.size = sizeof(HyKernelDesc),
          .entry = "add",
          .workgroup_size = {32, 1, 1},
          .buffer_count = 2,
          .scalar_bytes = scalar_bytes,
          .written_buffers = 2,
          .read_buffers = 1};
}

HyModule* Device::make_add_module(std::uint32_t scalar_bytes) const {
  auto words = add_kernel(scalar_bytes, scalar_bytes > info.max_scalar_bytes);
  const HyKernelDesc kernel = add_kernel_desc(scalar_bytes);
  HyModuleDesc desc{.size = sizeof desc,
                    .kernel_count = 1,
                    .format = "spirv",
                    .bytes = words.data(),
                    .byte_count = words.size() * 4,
                    .kernels = &kernel};
  HyModule* module = nullptr;
  REQUIRE_OK(backend().module_create(handle, &desc, &module, &error));
  return module;
}

std::uint64_t Device::submit(std::span<const HyCommand> commands, std::span<const HySyncPoint> waits,
                             std::span<const HySyncPoint> signals, HyQueue* on) const {
  HySubmission submission{.size = sizeof submission,
                          .wait_count = static_cast<std::uint32_t>(waits.size()),
                          .waits = waits.data(),
                          .signals = signals.data(),
                          .signal_count = static_cast<std::uint32_t>(signals.size()),
                          .command_count = static_cast<std::uint32_t>(commands.size()),
                          .commands = commands.data()};
  std::uint64_t value = 0;
  REQUIRE_OK(backend().queue_submit(on ? on : queue, &submission, &value, &error));
  return value;
}

HyStatus Device::wait(std::uint64_t value, HyQueue* on, std::string* message) const {
  HyError error = no_error();
  HyStatus status =
      backend().timeline_wait(backend().queue_timeline(on ? on : queue), value, 30'000'000'000u, &error);
  if (message) *message = error.message;
  return status;
}

void Device::arm(std::uint32_t fault) const {
  const auto* faults =
      static_cast<const HyFaultInjection*>(backend().get_extension(HY_EXTENSION_FAULT_INJECTION));
  REQUIRE(faults != nullptr);
  REQUIRE(faults->arm(handle, fault, 0) == HY_OK);
}

Add::Add(HyModule* module, HyBuffer* in, HyBuffer* out, std::uint32_t count, float addend,
         std::uint32_t scalar_bytes)
    : scalars(scalar_bytes),
      slices{{in, 0, std::uint64_t{count} * 4, 0, 0}, {out, 0, std::uint64_t{count} * 4, 1, 0}} {
  std::memcpy(scalars.data() + scalar_bytes - 4, &addend, 4);
  dispatch.size = sizeof dispatch;
  dispatch.module = module;
  dispatch.grid[0] = count / 32;
  dispatch.grid[1] = dispatch.grid[2] = 1;
  dispatch.buffers = slices;
  dispatch.buffer_count = 2;
  dispatch.scalars = scalars.data();
  dispatch.scalar_bytes = scalar_bytes;
  dispatch.scalar_slot = HY_NO_SLOT;
  command.size = sizeof command;
  command.kind = HY_COMMAND_DISPATCH;
  command.dispatch = &dispatch;
}

}  // namespace halyard::vulkan::tests
