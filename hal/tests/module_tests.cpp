#include <unistd.h>

#include <ctime>
#include <fstream>
#include <iterator>

#include "backend_module.h"
#include "fixture.h"
#include "halyard/hal/disk_cache.h"

using namespace halyard;
using namespace halyard::hal;
using namespace halyard::hal::testing;

TEST_CASE("scalars are packed at their natural alignment to a multiple of 8 bytes") {
  const auto block = ScalarBlock().add(std::uint32_t{1}).add(std::uint64_t{2}).add(std::uint16_t{3}).bytes();
  REQUIRE(block.size() == 24);
  CHECK(block[0] == std::byte{1});
  CHECK(block[8] == std::byte{2});
  CHECK(block[16] == std::byte{3});
  CHECK(block[18] == std::byte{0});
  CHECK(ScalarBlock().bytes().empty());
}

TEST_CASE("a second load of a module comes from the disk cache and compiles nothing") {
  if (!DiskCache::shared().enabled()) return;
  const auto device = open("fake:0");
  const std::string text = "code: cached " + std::to_string(std::time(nullptr)) + std::to_string(::getpid());
  const auto before = fake::compilations();
  CHECK(value_of(device->load_module(fake_module(text)))->origin() == ModuleOrigin::compiled);
  CHECK(value_of(device->load_module(fake_module(text)))->origin() == ModuleOrigin::disk_cache);
  CHECK(fake::compilations() == before + 1);
  auto other = fake_module(text);
  other.kernels[0].scratch_bytes = 64;
  CHECK(value_of(device->load_module(other))->origin() == ModuleOrigin::compiled);
}

TEST_CASE("a module that does not compile, of a format not taken, or with a missing kernel is an error") {
  const auto device = open("fake:0");
  const auto broken = device->load_module(fake_module("no code"));
  REQUIRE(!broken);
  CHECK(broken.error().code == ErrorCode::compile_error);
  CHECK(mentions(broken.error(), "load module 'words' (fake)"));
  auto foreign = fake_module();
  foreign.format = "spirv";
  const auto refused = device->load_module(foreign);
  REQUIRE(!refused);
  CHECK(refused.error().code == ErrorCode::unsupported);
  CHECK(mentions(refused.error(), "takes no 'spirv', only: fake-native, fake"));
  const auto missing = Kernel::find(value_of(device->load_module(fake_module())), "subtract");
  REQUIRE(!missing);
  CHECK(mentions(missing.error(), "it has: copy_words, scale_words, add_words, hold"));
}

TEST_CASE("the native code of a module can be read where the backend has it") {
  const auto module = value_of(open("fake:0")->load_module(fake_module()));
  CHECK(value_of(module->native()).format == "fake-native");
  const auto bare = value_of(open("bare")->load_module(fake_module()))->native();
  REQUIRE(!bare);
  CHECK(bare.error().code == ErrorCode::unsupported);
}

TEST_CASE("a damaged module file is refused before the system's loader sees it") {
  TemporaryFolder folder;
  const auto whole = std::filesystem::path(HALYARD_TEST_MODULE_FOLDER) / "libhalyard_fakemodule.so";
  std::ifstream stream(whole, std::ios::binary);
  const std::vector<char> image((std::istreambuf_iterator<char>(stream)), {});
  REQUIRE(image.size() > 4096);
  const auto path = folder.path / "libhalyard_damaged.so";
  const auto refused = [&](const std::vector<char>& bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const auto result = open_backend_module(path);
    REQUIRE(!result);
    CHECK(result.error().code == ErrorCode::corrupt_data);
  };
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{3}, std::size_t{64}, std::size_t{500}, std::size_t{4000}})
    refused({image.begin(), image.begin() + static_cast<std::ptrdiff_t>(length)});
  refused({'t', 'e', 'x', 't'});
  auto foreign = image;
  foreign[18] = 40;  // e_machine: 32-bit ARM
  refused(foreign);
}

TEST_CASE("a library without an entry, and tables that are too old or lack functions, are refused") {
  const HyBackend* whole = halyard_backend_entry_fake(HY_ABI_VERSION, nullptr);
  CHECK(check_backend_table(whole, "test"));
  CHECK(!check_backend_table(nullptr, "test"));
  HyBackend table = *whole;
  table.abi_version = 99;
  CHECK(mentions(check_backend_table(&table, "test").error(),
                 "the backend has ABI 99, this Halyard 1: rebuild it"));
  table = *whole;
  table.name = "No Name";
  CHECK(!check_backend_table(&table, "test"));
  table = *whole;
  table.queue_submit = nullptr;
  CHECK(mentions(check_backend_table(&table, "test").error(), "lacks the required function queue_submit"));
}

TEST_CASE("what an older, shorter table lacks is absent") {
  HyBackend table = *halyard_backend_entry_fake(HY_ABI_VERSION, nullptr);
  table.size = offsetof(HyBackend, graph_create);
  const auto checked = value_of(check_backend_table(&table, "test"));
  CHECK((checked->module_create != nullptr));
  CHECK((checked->graph_create == nullptr));
  CHECK((checked->get_extension == nullptr));
}
