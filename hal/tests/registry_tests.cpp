#include "fixture.h"
#include "halyard/hal/nearest_name.h"

using namespace halyard;
using namespace halyard::hal;
using namespace halyard::hal::testing;

TEST_CASE("a device URI has a backend and perhaps a selector") {
  CHECK(value_of(DeviceUri::parse("cpu")).text() == "cpu");
  const auto uri = value_of(DeviceUri::parse("vulkan:llvmpipe (LLVM 15, 256 bits)"));
  CHECK(uri.backend == "vulkan");
  CHECK(uri.selector == "llvmpipe (LLVM 15, 256 bits)");
  for (const char* text : {"", ":", ":0", "cuda:", "CPU", "cu da", "auto:1", "cpu:\n"}) {
    CAPTURE(text);
    const auto result = DeviceUri::parse(text);
    REQUIRE(!result);
    CHECK(result.error().code == ErrorCode::invalid_argument);
    CHECK(mentions(result.error(), "vulkan:llvmpipe"));
  }
}

TEST_CASE("devices are named by ordinal, alias, part of a name, and uuid") {
  const auto registry = fake_registry();
  CHECK(value_of(registry->open("fake:1"))->info().uri == "fake:1");
  CHECK(value_of(registry->open("fake:staged"))->info().uri == "fake:1");
  CHECK(value_of(registry->open("fake:Stand"))->info().uri == "fake:2");
  CHECK(value_of(registry->open("fake"))->info().uri == "fake:0");
  CHECK(value_of(registry->open("fake:GPU-10111213-1415-1617-1819-1a1b1c1d1e1f"))->info().uri == "fake:1");
}

TEST_CASE("auto takes the best device that is no stand-in") {
  const auto registry = fake_registry();
  CHECK(value_of(registry->open("auto"))->info().uri == "fake:0");
  const auto devices = registry->devices();
  REQUIRE(devices.size() == 4);
  CHECK(devices.front().uri == "fake:0");
  CHECK(devices.back().emulated);
}

TEST_CASE("HALYARD_DEVICE sets the default") {
  ::setenv("HALYARD_DEVICE", "fake:staged", 1);
  CHECK(value_of(fake_registry()->open())->info().uri == "fake:1");
  CHECK(value_of(fake_registry()->open("bare"))->info().uri == "bare:0");
  ::unsetenv("HALYARD_DEVICE");
}

TEST_CASE("an unknown device is an error that lists the names there are and the nearest") {
  const auto registry = fake_registry();
  const auto result = registry->open("fkae:0");
  REQUIRE(!result);
  CHECK(result.error().code == ErrorCode::not_found);
  CHECK(mentions(result.error(), "fake:0, bare:0, fake:1, fake:2"));
  CHECK(mentions(result.error(), "Did you mean 'fake:0'?"));
  const auto beyond = registry->open("fake:7");
  REQUIRE(!beyond);
  CHECK(mentions(beyond.error(), "has no device '7'"));
  CHECK(nearest_name("vulcan", std::vector<std::string>{"cpu", "vulkan"}) == "vulkan");
  CHECK(nearest_name("xyzzy", std::vector<std::string>{"cpu", "vulkan"}).empty());
}

TEST_CASE("a missing vendor library is an ordinary answer") {
  LogRecorder log;
  const auto registry = fake_registry();
  for (const BackendReport& report : registry->backends()) {
    if (report.name != "absent") continue;
    REQUIRE(!report.status);
    CHECK(report.status.error().code == ErrorCode::not_found);
    CHECK(mentions(report.status.error(), "libvendor.so.1 not found: install the vendor's driver"));
  }
  const auto opened = registry->open("absent:0");
  REQUIRE(!opened);
  CHECK(mentions(opened.error(), "libvendor.so.1"));
  CHECK(log.lines.empty());
}

TEST_CASE("a backend module is found in a search folder and by its path") {
  Registry by_folder({.folders = {HALYARD_TEST_MODULE_FOLDER}, .search_defaults = false});
  CHECK(value_of(by_folder.open("fakemodule:0"))->info().backend == "fakemodule");
  Registry by_path({.folders = {}, .search_defaults = false});
  const std::filesystem::path path =
      std::filesystem::path(HALYARD_TEST_MODULE_FOLDER) / "libhalyard_fakemodule.so";
  CHECK(value_of(by_path.load(path)) == "fakemodule");
  CHECK(value_of(by_path.load(path)) == "fakemodule");
  CHECK(value_of(by_path.open("fakemodule:staged"))->info().uri == "fakemodule:1");
  const auto missing = by_path.load("/nowhere/libhalyard_none.so");
  REQUIRE(!missing);
  CHECK(missing.error().code == ErrorCode::not_found);
}

TEST_CASE("a module whose file has another name than its backend is one backend") {
  TemporaryFolder folder;
  const auto original = std::filesystem::path(HALYARD_TEST_MODULE_FOLDER) / "libhalyard_fakemodule.so";
  const auto renamed = folder.path / "libhalyard_renamed.so";
  std::filesystem::copy_file(original, renamed);
  Registry registry({.folders = {folder.path}, .search_defaults = false});
  CHECK(value_of(registry.load(renamed)) == "fakemodule");
  CHECK(registry.devices().size() == 3);
  CHECK(value_of(registry.open("fakemodule:1"))->info().uri == "fakemodule:1");
  const auto second = registry.load(original);
  REQUIRE(!second);
  CHECK(mentions(second.error(), "a backend 'fakemodule' is there already"));

  Registry both({.folders = {folder.path, HALYARD_TEST_MODULE_FOLDER}, .search_defaults = false});
  CHECK(both.devices().size() == 3);
  CHECK(value_of(both.open("fakemodule:2"))->info().emulated);
  std::size_t usable = 0;
  for (const BackendReport& report : both.backends()) usable += report.status ? 1 : 0;
  CHECK(usable == 1);
}

TEST_CASE("HALYARD_BACKEND_PATH is searched before the other folders") {
  const char* before = std::getenv("HALYARD_BACKEND_PATH");
  const std::string saved = before != nullptr ? before : "";
  ::setenv("HALYARD_BACKEND_PATH", ("/nowhere:" + std::string(HALYARD_TEST_MODULE_FOLDER)).c_str(), 1);
  Registry registry(Registry::Options{});
  CHECK(value_of(registry.open("fakemodule"))->info().uri == "fakemodule:0");
  ::setenv("HALYARD_BACKEND_PATH", saved.c_str(), 1);
}

TEST_CASE("the same backend cannot be added twice") {
  const auto registry = fake_registry();
  const Status again = registry->add(halyard_backend_entry_fake);
  REQUIRE(!again);
  CHECK(again.error().code == ErrorCode::invalid_argument);
}
