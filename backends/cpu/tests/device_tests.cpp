// What the cpu backend says of itself, and its buffers.
#include <cstdlib>
#include <string>
#include "cpu_fixture.h"

using namespace halyard::cpu::tests;

TEST_CASE("the backend has one device, of type cpu") {
  HyDeviceSummary summary{};
  summary.size = sizeof summary;
  std::uint32_t count = 0;
  REQUIRE_OK(backend().enumerate(&summary, 1, &count, &error));
  CHECK_EQ(count, 1u);
  CHECK_EQ(summary.type, HY_DEVICE_CPU);
  CHECK_EQ(summary.score, 100);
  CHECK_NE(std::string(summary.name), "");
  REQUIRE_OK(backend().enumerate(nullptr, 0, &count, &error));
  CHECK_EQ(std::string(backend().name), "cpu");
}

TEST_CASE("a device that does not exist cannot be opened, nor one on a foreign context") {
  HyDeviceDesc desc{};
  desc.size = sizeof desc;
  desc.ordinal = 3;
  HyDevice* device = nullptr;
  HyError error = no_error();
  CHECK_EQ(backend().device_open(&desc, &device, &error), HY_NOT_FOUND);
  HyForeignContext foreign{};
  foreign.size = sizeof foreign;
  foreign.kind = HY_FOREIGN_VULKAN;
  desc.ordinal = 0;
  desc.foreign = &foreign;
  CHECK_EQ(backend().device_open(&desc, &device, &error), HY_UNSUPPORTED);
}

TEST_CASE("device information holds what schedules need") {
  Device device(1);
  HyDeviceInfo info{};
  info.size = sizeof info;
  REQUIRE_OK(backend().device_info(device.handle, &info, &error));
  CHECK_EQ(info.compute_units, 1u);
  CHECK_EQ(info.subgroup_size, 1u);
  CHECK((info.execution_flags & HY_EXECUTION_ONE_LANE_PER_WORKGROUP) != 0);
  CHECK_GE(info.vector_register_bytes, 16u);
  CHECK_GT(info.l1_bytes, 0u);
  CHECK_GT(info.memory_bytes, 0u);
  CHECK_EQ(std::string(info.module_formats[0]), "elf-object");
  CHECK_EQ(std::string(info.module_formats[1]), "llvm-ir");
  std::string architecture = info.architecture;
  for (std::uint32_t i = 0; i < info.isa_feature_count; ++i)
    CHECK_NE(architecture.find(std::string("+") + info.isa_features[i]), std::string::npos);
}

TEST_CASE("properties have names, and an unknown one is not found") {
  Device device(1);
  HyProperty property{};
  property.size = sizeof property;
  REQUIRE_OK(backend().device_property(device.handle, "cpu.threads", &property, &error));
  CHECK_EQ(property.integer, 1);
  REQUIRE_OK(backend().device_property(device.handle, "memory.free_bytes", &property, &error));
  CHECK_GT(property.integer, 0);
  HyError error = no_error();
  CHECK_EQ(backend().device_property(device.handle, "cpu.thread", &property, &error), HY_NOT_FOUND);
}

TEST_CASE("buffers are aligned to 64 bytes, mapped, and given out as pointers") {
  Device device;
  for (std::uint64_t bytes : {1ull, 63ull, 4096ull, 9ull << 20}) {
    HyBuffer* buffer = device.make_buffer(bytes);
    auto address = reinterpret_cast<std::uintptr_t>(Device::pointer(buffer));
    CHECK_EQ(address % 64, 0u);
    std::memset(Device::pointer(buffer), 1, bytes);
    HyHandle handle{};
    handle.size = sizeof handle;
    handle.kind = HY_HANDLE_HOST_POINTER;
    REQUIRE_OK(backend().buffer_export(buffer, &handle, &error));
    CHECK_EQ(handle.value, address);
    CHECK_EQ(handle.bytes, bytes);
    backend().buffer_destroy(buffer);
  }
}

TEST_CASE("a caller's memory is used in place and stays the caller's") {
  Device device;
  alignas(64) static std::int32_t memory[32];
  HyHandle handle{};
  handle.size = sizeof handle;
  handle.kind = HY_HANDLE_HOST_POINTER;
  handle.value = reinterpret_cast<std::uint64_t>(memory);
  handle.bytes = sizeof memory;
  HyBuffer* buffer = nullptr;
  REQUIRE_OK(backend().buffer_import(device.handle, &handle, &buffer, &error));
  run(device.queue, Commands().fill(slice(buffer, sizeof memory), 0x01010101, 4));
  CHECK_EQ(memory[31], 0x01010101);
  backend().buffer_destroy(buffer);
  HyError error = no_error();
  handle.value += 4;
  CHECK_EQ(backend().buffer_import(device.handle, &handle, &buffer, &error), HY_INVALID_ARGUMENT);
  handle.kind = HY_HANDLE_DMA_BUF_FD;
  CHECK_EQ(backend().buffer_import(device.handle, &handle, &buffer, &error), HY_UNSUPPORTED);
}

TEST_CASE("an error message is cut to the caller's structure and always ends") {
  Device device;
  HyProperty property{};
  property.size = sizeof property;
  HyError error = no_error();
  std::memset(error.message, 'x', sizeof error.message);
  std::string key(5000, 'k');
  CHECK_EQ(backend().device_property(device.handle, key.c_str(), &property, &error), HY_NOT_FOUND);
  CHECK_EQ(error.message[sizeof error.message - 1], 0);
  CHECK_EQ(backend().device_property(device.handle, key.c_str(), &property, nullptr), HY_NOT_FOUND);
}
