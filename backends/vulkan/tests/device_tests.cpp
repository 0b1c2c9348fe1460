#include <cstdlib>
#include <memory>
#include "vulkan_fixture.h"

using namespace halyard::vulkan::tests;

TEST_CASE("every device found is listed with its driver, and a software driver says that it is one") {
  if (!has_device()) return;
  std::uint32_t count = 0;
  REQUIRE_OK(backend().enumerate(nullptr, 0, &count, &error));
  std::vector<HyDeviceSummary> summaries(count);
  for (auto& summary : summaries) summary.size = sizeof summary;
  REQUIRE_OK(backend().enumerate(summaries.data(), count, &count, &error));
  for (const auto& summary : summaries) {
    CHECK(std::string(summary.name) != "");
    CHECK(std::string(summary.driver) != "");
    CHECK(std::string(summary.driver_version) != "");
    bool is_cpu = summary.type == HY_DEVICE_CPU;
    CHECK(is_cpu == ((summary.flags & HY_DEVICE_FLAG_SOFTWARE) != 0));
    CHECK((summary.flags & HY_DEVICE_FLAG_EMULATED) == 0);
    CHECK(summary.score > 0);
  }
}

TEST_CASE("a device tells what schedules need") {
  if (!has_device()) return;
  Device device;
  CHECK(device.info.subgroup_size >= 4);
  CHECK(device.info.max_workgroup_invocations >= 128);
  CHECK(device.info.shared_bytes >= 16384);
  CHECK(device.info.max_scalar_bytes >= 128);
  CHECK(device.info.storage_alignment >= 16);
  CHECK(device.info.max_allocation_bytes >= 1u << 30);
  CHECK((device.info.arithmetic_types & (1u << 11)) != 0);
  // Compiled pipelines are the cheaper form.
  REQUIRE(device.info.module_format_count == 2);
  CHECK(std::string(device.info.module_formats[0]) == "vulkan-pipelines");
  CHECK(std::string(device.info.module_formats[1]) == "spirv");
}

TEST_CASE("an unknown property and an unknown device are not found, and the message lists what there is") {
  if (!has_device()) return;
  Device device;
  HyError error = no_error();
  HyProperty property{.size = sizeof property};
  CHECK(backend().device_property(device.handle, "vulkan.colour", &property, &error) == HY_NOT_FOUND);
  CHECK(std::string(error.message).find("vulkan.device") != std::string::npos);
  HyDevice* other = nullptr;
  HyDeviceDesc desc{.size = sizeof desc, .ordinal = 1000};
  CHECK(backend().device_open(&desc, &other, &error) == HY_NOT_FOUND);
}

TEST_CASE("a buffer beyond the device's limit is refused, and the device lives on") {
  if (!has_device()) return;
  Device device;
  HyBufferDesc desc{
      .size = sizeof desc, .memory = HY_MEMORY_DEVICE, .bytes = device.info.max_allocation_bytes + 1};
  HyBuffer* buffer = nullptr;
  HyError error = no_error();
  CHECK(backend().buffer_create(device.handle, &desc, &buffer, &error) == HY_OUT_OF_MEMORY);
  CHECK(std::string(error.message).find(std::to_string(desc.bytes)) != std::string::npos);
  desc.bytes = 0;
  CHECK(backend().buffer_create(device.handle, &desc, &buffer, &error) == HY_INVALID_ARGUMENT);
  device.arm(HY_FAULT_OUT_OF_MEMORY);
  desc.bytes = 64;
  CHECK(backend().buffer_create(device.handle, &desc, &buffer, &error) == HY_OUT_OF_MEMORY);
  REQUIRE_OK(backend().buffer_create(device.handle, &desc, &buffer, &error));
  backend().buffer_destroy(buffer);
}

TEST_CASE("host memory is imported and written in place") {
  if (!has_device()) return;
  Device device;
  constexpr std::size_t bytes = 1 << 16;
  std::unique_ptr<void, decltype(&std::free)> memory(std::aligned_alloc(4096, bytes), &std::free);
  std::memset(memory.get(), 0, bytes);
  HyHandle handle{.size = sizeof handle, .kind = HY_HANDLE_HOST_POINTER};
  handle.value = reinterpret_cast<std::uint64_t>(memory.get());
  handle.bytes = bytes;
  HyBuffer* buffer = nullptr;
  HyError refused = no_error();
  if (backend().buffer_import(device.handle, &handle, &buffer, &refused) == HY_UNSUPPORTED) {
    MESSAGE("skipped: " << refused.message);
    return;
  }
  REQUIRE(buffer != nullptr);
  HyFill fill{.destination = {buffer, 4, 32, 0, 0}, .pattern = 0x01020304, .pattern_bytes = 4};
  HyCommand command{.size = sizeof command, .kind = HY_COMMAND_FILL, .fill = &fill};
  CHECK(device.wait(device.submit({&command, 1})) == HY_OK);
  const auto* words = static_cast<const std::uint32_t*>(memory.get());
  CHECK(words[0] == 0);
  CHECK(words[1] == 0x01020304);
  CHECK(words[8] == 0x01020304);
  CHECK(words[9] == 0);
  backend().buffer_destroy(buffer);
}

TEST_CASE("a buffer announced for export is shared with another device by a file descriptor") {
  if (!has_device()) return;
  Device first, second;
  HyBufferDesc desc{.size = sizeof desc,
                    .memory = HY_MEMORY_DEVICE,
                    .bytes = 1000,
                    .export_kinds = 1u << HY_HANDLE_OPAQUE_FD};
  HyBuffer* shared = nullptr;
  HyError refused = no_error();
  if (backend().buffer_create(first.handle, &desc, &shared, &refused) == HY_UNSUPPORTED) {
    MESSAGE("skipped: " << refused.message);
    return;
  }
  REQUIRE(shared != nullptr);
  HyHandle handle{.size = sizeof handle, .kind = HY_HANDLE_OPAQUE_FD};
  REQUIRE_OK(backend().buffer_export(shared, &handle, &error));
  HyBuffer* same = nullptr;
  REQUIRE_OK(backend().buffer_import(second.handle, &handle, &same, &error));
  HyFill fill{.destination = {shared, 0, 1000, 0, 0}, .pattern = 0x2a, .pattern_bytes = 1};
  HyCommand command{.size = sizeof command, .kind = HY_COMMAND_FILL, .fill = &fill};
  CHECK(first.wait(first.submit({&command, 1})) == HY_OK);
  HyBuffer* seen = second.make_buffer(1000);
  HyCopy copy{.source = {same, 0, 1000, 0, 0}, .destination = {seen, 0, 1000, 0, 0}};
  command = {.size = sizeof command, .kind = HY_COMMAND_COPY, .copy = &copy};
  CHECK(second.wait(second.submit({&command, 1})) == HY_OK);
  CHECK(Device::contents<std::uint8_t>(seen, 1000) == std::vector<std::uint8_t>(1000, 0x2a));
  for (HyBuffer* each : {same, seen, shared}) backend().buffer_destroy(each);
}

TEST_CASE("a buffer's VkBuffer can be had, and imported again") {
  if (!has_device()) return;
  Device device;
  HyBuffer* buffer = device.make_buffer(std::vector<float>(64, 1.0f));
  HyHandle handle{.size = sizeof handle, .kind = HY_HANDLE_VENDOR_OBJECT};
  REQUIRE_OK(backend().buffer_export(buffer, &handle, &error));
  HyBuffer* same = nullptr;
  REQUIRE_OK(backend().buffer_import(device.handle, &handle, &same, &error));
  HyBuffer* out = device.make_buffer(256);
  HyModule* module = device.make_add_module();
  Add add(module, same, out, 64, 2.0f);
  CHECK(device.wait(device.submit({&add.command, 1})) == HY_OK);
  CHECK(Device::contents<float>(out, 64) == std::vector<float>(64, 3.0f));
  backend().module_destroy(module);
  for (HyBuffer* each : {same, buffer, out}) backend().buffer_destroy(each);
}

TEST_CASE("a module that is no valid SPIR-V is refused with the validator's words") {
  if (!has_device()) return;
  Device device;
  auto words = add_kernel(8, false);
  HyKernelDesc kernel = add_kernel_desc(8);
  HyModuleDesc desc{.size = sizeof desc,
                    .kernel_count = 1,
                    .format = "spirv",
                    .bytes = words.data(),
                    .byte_count = words.size() * 4,
                    .kernels = &kernel};
  HyModule* module = nullptr;
  auto create = [&] {
    HyError error = no_error();
    HyStatus status = backend().module_create(device.handle, &desc, &module, &error);
    return std::pair(status, std::string(error.message));
  };
  desc.format = "ptx";
  CHECK(create().first == HY_UNSUPPORTED);
  desc.format = "spirv";
  desc.byte_count -= 2;
  CHECK(create().first == HY_CORRUPT_DATA);
  desc.byte_count -= 2;
  auto [status, message] = create();
  CHECK(status == HY_COMPILE_ERROR);
  CHECK(message.find("spirv-val") != std::string::npos);
  words[0] = 0;
  desc.byte_count = words.size() * 4;
  CHECK(create().first == HY_CORRUPT_DATA);
  words[0] = 0x07230203;
  kernel.workgroup_size[0] = device.info.max_workgroup_invocations + 1;
  CHECK(create().first == HY_UNSUPPORTED);
}

TEST_CASE("a module loads from its compiled pipelines, and damaged or foreign ones are refused") {
  if (!has_device()) return;
  Device device;
  HyModule* first = device.make_add_module();
  const char* format = nullptr;
  const void* bytes = nullptr;
  std::size_t count = 0;
  REQUIRE_OK(backend().module_get_native(first, &format, &bytes, &count, &error));
  const std::vector<std::byte> native(static_cast<const std::byte*>(bytes),
                                      static_cast<const std::byte*>(bytes) + count);
  const std::string name = format;
  backend().module_destroy(first);

  const HyKernelDesc kernel = add_kernel_desc(8);
  auto load = [&](const std::vector<std::byte>& image) {
    HyModuleDesc desc{.size = sizeof desc,
                      .kernel_count = 1,
                      .format = name.c_str(),
                      .bytes = image.data(),
                      .byte_count = image.size(),
                      .kernels = &kernel};
    HyModule* module = nullptr;
    HyError error = no_error();
    const HyStatus status = backend().module_create(device.handle, &desc, &module, &error);
    if (status == HY_OK) backend().module_destroy(module);
    return status;
  };
  CHECK(load(native) == HY_OK);
  for (std::size_t keep : {std::size_t{0}, std::size_t{15}, std::size_t{16}, native.size() - 1}) {
    CAPTURE(keep);
    CHECK(load({native.begin(), native.begin() + static_cast<std::ptrdiff_t>(keep)}) == HY_CORRUPT_DATA);
  }
  // The driver's data begins with a header of 16 bytes and the driver's uuid.
  std::uint64_t words = 0;
  std::memcpy(&words, native.data(), sizeof words);
  std::vector<std::byte> foreign = native;
  REQUIRE(foreign.size() > 16 + words * 4 + 16);
  foreign[16 + words * 4 + 16] ^= std::byte{1};
  CHECK(load(foreign) == HY_CORRUPT_DATA);
}
