// Modules: compiling, caching, and what the object loader refuses.
#include <elf.h>
#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include "../llvm_library.h"
#include "../object_loader.h"
#include "cpu_fixture.h"

using namespace halyard::cpu::tests;
using halyard::ErrorCode;
using halyard::cpu::LoadedObject;

namespace {

std::vector<HyKernelDesc> first_kernel() {
  return {kernel_desc("add_one", 1)};
}

std::string native_bytes(HyModule* module) {
  const char* format = nullptr;
  const void* bytes = nullptr;
  std::size_t count = 0;
  REQUIRE_OK(backend().module_get_native(module, &format, &bytes, &count, &error));
  REQUIRE_EQ(std::string(format), "elf-object");
  return {static_cast<const char*>(bytes), count};
}

/// The object that LLVM makes of a text.
std::string compiled(const Device& device, const char* text) {
  HyModule* module = nullptr;
  HyError error = no_error();
  HyStatus status = create_module(device, "llvm-ir", text, {}, &module, &error);
  REQUIRE_MESSAGE(status == HY_OK, error.message);
  std::string bytes = native_bytes(module);
  backend().module_destroy(module);
  return bytes;
}

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

TEST_CASE("a compiled module loads again from its native bytes") {
  Device device;
  HyModule* module = make_module(device, "llvm-ir", example_text, first_kernel());
  std::string bytes = native_bytes(module);
  backend().module_destroy(module);
  HyModule* again = make_module(device, "elf-object", bytes, first_kernel());
  CHECK(native_bytes(again) == bytes);
  HyBuffer* buffer = device.make_buffer(std::vector<std::int32_t>(10, 1));
  run(device.queue, Commands().dispatch(again, 0, 10, {slice(buffer, 40)}));
  CHECK_EQ(Device::contents<std::int32_t>(buffer, 10)[9], 2);
  backend().buffer_destroy(buffer);
  backend().module_destroy(again);
}

TEST_CASE("without LLVM compiling is unsupported, and the message says what to install") {
  setenv("HALYARD_LLVM_LIBRARY", "libno-such-llvm.so", 1);
  auto library = halyard::cpu::llvm::library();
  unsetenv("HALYARD_LLVM_LIBRARY");
  REQUIRE_FALSE(library);
  CHECK_EQ(library.error().code, ErrorCode::unsupported);
  CHECK_NE(library.error().message.find("libllvm19"), std::string::npos);
  CHECK_NE(library.error().message.find("libno-such-llvm.so"), std::string::npos);
  CHECK_FALSE(halyard::cpu::llvm::library_is_open());
}

TEST_CASE("a cached object loads and runs in a process that never opens LLVM") {
  std::string path = "/tmp/halyard-cpu-object-XXXXXX";
  int file = mkstemp(path.data());
  REQUIRE(file >= 0);
  {
    Device device;
    std::string object = compiled(device, example_text);
    REQUIRE_EQ(write(file, object.data(), object.size()), static_cast<ssize_t>(object.size()));
  }
  close(file);
  std::string command = "HALYARD_LLVM_LIBRARY=libno-such-llvm.so HALYARD_TEST_OBJECT=" + path + " " +
                        std::filesystem::read_symlink("/proc/self/exe").string() +
                        " --no-skip --test-case='child process:*' > /dev/null 2>&1";
  CHECK_EQ(std::system(command.c_str()), 0);
  std::filesystem::remove(path);
}

TEST_CASE("child process: the object named in the environment runs, and compiling is unsupported" *
          doctest::skip()) {
  const char* path = std::getenv("HALYARD_TEST_OBJECT");
  REQUIRE((path != nullptr) == true);
  std::ifstream file(path, std::ios::binary);
  std::string object((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Device device;
  HyModule* module = make_module(device, "elf-object", object, first_kernel());
  HyBuffer* buffer = device.make_buffer(std::vector<std::int32_t>(10, 1));
  run(device.queue, Commands().dispatch(module, 0, 10, {slice(buffer, 40)}));
  CHECK_EQ(Device::contents<std::int32_t>(buffer, 10)[9], 2);
  HyModule* other = nullptr;
  HyError error = no_error();
  CHECK_EQ(create_module(device, "llvm-ir", example_text, {}, &other, &error), HY_UNSUPPORTED);
  CHECK_NE(std::string(error.message).find("libllvm19"), std::string::npos);
  HyProperty property{};
  property.size = sizeof property;
  REQUIRE_OK(backend().device_property(device.handle, "cpu.llvm_is_open", &property, &error));
  CHECK_EQ(property.integer, 0);
  backend().buffer_destroy(buffer);
  backend().module_destroy(module);
}

TEST_CASE("text that LLVM cannot read or verify is a compile error with LLVM's words") {
  Device device;
  HyModule* module = nullptr;
  HyError error = no_error();
  CHECK_EQ(create_module(device, "llvm-ir", "define void @f( {", {}, &module, &error), HY_COMPILE_ERROR);
  CHECK_NE(std::string(error.message).find("error:"), std::string::npos);
  const char* unverified =
      "define i32 @f(i1 %c) {\n br i1 %c, label %a, label %b\na:\n %x = add i32 1, 2\n br label %b\n"
      "b:\n ret i32 %x\n}";
  CHECK_EQ(create_module(device, "llvm-ir", unverified, {}, &module, &error), HY_COMPILE_ERROR);
  CHECK_EQ(create_module(device, "spirv", "", {}, &module, &error), HY_UNSUPPORTED);
  CHECK_EQ(create_module(device, "llvm-ir", example_text, {kernel_desc("missing", 1)}, &module, &error),
           HY_NOT_FOUND);
  HyKernelDesc wide = kernel_desc("add_one", 1);
  wide.workgroup_size[0] = 8;
  CHECK_EQ(create_module(device, "llvm-ir", example_text, {wide}, &module, &error), HY_UNSUPPORTED);
}

TEST_CASE("constants, tables and calls of memcpy are relocated") {
  Device device;
  const char* text = R"(
@table = private unnamed_addr constant [4 x i32] [i32 10, i32 20, i32 30, i32 40], align 16
declare ptr @memcpy(ptr, ptr, i64)
define void @fetch(ptr %args) nounwind {
  %buffers = load ptr, ptr %args
  %out = load ptr, ptr %buffers
  %copied = call ptr @memcpy(ptr %out, ptr @table, i64 16)
  %vector = load <4 x float>, ptr %out
  %second.address = getelementptr i8, ptr %out, i64 16
  %pi = fadd <4 x float> zeroinitializer, <float 1.0, float 2.0, float 3.0, float 4.5>
  store <4 x float> %pi, ptr %second.address, align 4
  ret void
})";
  HyModule* module = make_module(device, "llvm-ir", text, {kernel_desc("fetch", 1)});
  HyBuffer* buffer = device.make_buffer(32);
  run(device.queue, Commands().dispatch(module, 0, 1, {slice(buffer, 32)}));
  CHECK_EQ(Device::contents<std::int32_t>(buffer, 4)[3], 40);
  CHECK_EQ(Device::contents<float>(buffer, 8)[7], 4.5f);
  backend().buffer_destroy(buffer);
  backend().module_destroy(module);
}

TEST_CASE("objects that call out, write globals or use threads' data are refused") {
  Device device;
  HyModule* module = nullptr;
  HyError error = no_error();
  auto status_of = [&](const char* text) {
    return create_module(device, "llvm-ir", text, {}, &module, &error);
  };
  CHECK_EQ(status_of("declare void @abort()\ndefine void @f() {\n call void @abort()\n ret void\n}"),
           HY_UNSUPPORTED);
  CHECK_NE(std::string(error.message).find("abort"), std::string::npos);
  CHECK_EQ(status_of("declare double @sin(double)\ndefine double @f(double %x) {\n %y = call double "
                     "@sin(double %x)\n ret "
                     "double %y\n}"),
           HY_UNSUPPORTED);
  CHECK_EQ(status_of("@counter = global i32 7\ndefine void @f() {\n store i32 1, ptr @counter\n ret void\n}"),
           HY_UNSUPPORTED);
  CHECK_EQ(status_of("@zero = global [9 x i32] zeroinitializer\ndefine void @f() {\n store i32 1, ptr "
                     "@zero\n ret void\n}"),
           HY_UNSUPPORTED);
  CHECK_EQ(
      status_of(
          "@mine = thread_local global i32 7\ndefine void @f() {\n store i32 1, ptr @mine\n ret void\n}"),
      HY_UNSUPPORTED);
}

TEST_CASE("a truncated object is an error at every length") {
  Device device;
  std::string object = compiled(device, example_text);
  for (std::size_t length = 0; length < object.size(); ++length) {
    // Section headers stand at the end, so no shorter object is whole.
    auto loaded = LoadedObject::load(as_bytes(object).first(length));
    REQUIRE_FALSE(loaded.has_value());
  }
  CHECK(LoadedObject::load(as_bytes(object)).has_value());
}

TEST_CASE("damaged objects load or fail, and never touch memory outside") {
  Device device;
  std::string object = compiled(device, R"(
@table = private unnamed_addr constant [4 x i32] [i32 10, i32 20, i32 30, i32 40], align 16
declare ptr @memcpy(ptr, ptr, i64)
define void @f(ptr %p) nounwind {
  %copied = call ptr @memcpy(ptr %p, ptr @table, i64 16)
  ret void
})");
  std::mt19937 random(11);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = object;
    for (unsigned i = 0; i < 1 + random() % 4; ++i) {
      std::size_t at = random() % damaged.size();
      damaged[at] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
    }
    refused += !LoadedObject::load(as_bytes(damaged)).has_value();
  }
  CHECK_GT(refused, 100);
}

TEST_CASE("objects of other machines and other kinds are named as such") {
  Device device;
  std::string object = compiled(device, example_text);
  auto with = [&](auto change) {
    std::string changed = object;
    Elf64_Ehdr header;
    std::memcpy(&header, changed.data(), sizeof header);
    change(header);
    std::memcpy(changed.data(), &header, sizeof header);
    auto loaded = LoadedObject::load(as_bytes(changed));
    return loaded ? ErrorCode::internal : loaded.error().code;
  };
  CHECK_EQ(with([](Elf64_Ehdr& h) { h.e_machine = EM_AARCH64; }), ErrorCode::unsupported);
  CHECK_EQ(with([](Elf64_Ehdr& h) { h.e_type = ET_DYN; }), ErrorCode::corrupt_data);
  CHECK_EQ(with([](Elf64_Ehdr& h) { h.e_shoff = ~0ull - 10; }), ErrorCode::corrupt_data);
  CHECK_EQ(with([](Elf64_Ehdr& h) { h.e_shnum = 0; }), ErrorCode::corrupt_data);
  CHECK_EQ(LoadedObject::load(as_bytes("not an object")).error().code, ErrorCode::corrupt_data);
}
