#include <thread>

#include "backend_call.h"
#include "device_info_reader.h"
#include "fixture.h"
#include "halyard/hal/command_graph.h"
#include "validation.h"

using namespace halyard;
using namespace halyard::hal;
using namespace halyard::hal::testing;

namespace {

/// A validated fake device, driven through the C interface, as a careless layer above might do.
struct Careless {
  const HyBackend* inner = halyard_backend_entry_fake(HY_ABI_VERSION, nullptr);
  std::shared_ptr<const HyBackend> backend;
  HyDevice* device = nullptr;
  HyQueue* queue = nullptr;
  HyModule* module = nullptr;
  BackendError error;

  explicit Careless(std::uint32_t ordinal = 0) {
    HyDeviceDesc desc{};
    desc.size = sizeof desc;
    desc.ordinal = ordinal;
    HyDevice* raw = nullptr;
    REQUIRE(inner->device_open(&desc, &raw, nullptr) == HY_OK);
    HyDeviceInfo info{};
    info.size = sizeof info;
    REQUIRE(inner->device_info(raw, &info, nullptr) == HY_OK);
    auto validated = validate_device(std::shared_ptr<const HyBackend>(inner, [](const HyBackend*) {}), raw,
                                     read_device_info(*inner, info, "fake:0"));
    backend = validated.backend;
    device = validated.device;
    HyQueueDesc queue_desc{};
    queue_desc.size = sizeof queue_desc;
    REQUIRE(backend->queue_create(device, &queue_desc, &queue, nullptr) == HY_OK);
    HyKernelDesc kernels[2] = {};
    for (HyKernelDesc& kernel : kernels) {
      kernel.size = sizeof kernel;
      for (auto& extent : kernel.workgroup_size) extent = 1;
    }
    kernels[0].entry = "copy_words";
    kernels[0].buffer_count = 2;
    kernels[0].read_buffers = 1;
    kernels[0].written_buffers = 2;
    kernels[1].entry = "hold";
    HyModuleDesc module_desc{};
    module_desc.size = sizeof module_desc;
    module_desc.format = "fake";
    module_desc.bytes = "code:";
    module_desc.byte_count = 5;
    module_desc.kernels = kernels;
    module_desc.kernel_count = 2;
    REQUIRE(backend->module_create(device, &module_desc, &module, nullptr) == HY_OK);
  }
  ~Careless() {
    backend->module_destroy(module);
    backend->queue_destroy(queue);
    backend->device_close(device);
  }
  HyBuffer* buffer(std::uint64_t bytes) {
    const HyBufferDesc desc{sizeof desc, HY_MEMORY_DEVICE, bytes};
    HyBuffer* result = nullptr;
    REQUIRE(backend->buffer_create(device, &desc, &result, nullptr) == HY_OK);
    return result;
  }
  /// The message of the refusal, or an empty text.
  std::string submit(const HyCommand& command) {
    HySubmission submission{};
    submission.size = sizeof submission;
    submission.commands = &command;
    submission.command_count = 1;
    std::uint64_t value = 0;
    const HyStatus status = backend->queue_submit(queue, &submission, &value, &error);
    if (status == HY_OK) return {};
    CHECK(status == HY_INVALID_ARGUMENT);
    return error.message;
  }
  std::string copy(HySlice source, HySlice destination) {
    const HyCopy operands{source, destination};
    HyCommand command{};
    command.size = sizeof command;
    command.kind = HY_COMMAND_COPY;
    command.copy = &operands;
    return submit(command);
  }
  std::string dispatch(std::vector<HySlice> slices, std::uint32_t kernel = 0, std::uint32_t groups = 1) {
    HyDispatch operands{};
    operands.size = sizeof operands;
    operands.module = module;
    operands.kernel = kernel;
    operands.grid[0] = groups;
    operands.grid[1] = operands.grid[2] = 1;
    operands.buffers = slices.data();
    operands.buffer_count = static_cast<std::uint32_t>(slices.size());
    operands.scalar_slot = HY_NO_SLOT;
    HyCommand command{};
    command.size = sizeof command;
    command.kind = HY_COMMAND_DISPATCH;
    command.dispatch = &operands;
    return submit(command);
  }
  std::string fill(HySlice destination, std::uint32_t pattern_bytes) {
    const HyFill operands{destination, 0, pattern_bytes};
    HyCommand command{};
    command.size = sizeof command;
    command.kind = HY_COMMAND_FILL;
    command.fill = &operands;
    return submit(command);
  }
};

HySlice slice(HyBuffer* buffer, std::uint64_t offset, std::uint64_t bytes) {
  return HySlice{buffer, offset, bytes, HY_NO_SLOT, 0};
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("validation: work on a destroyed buffer is refused") {
  Careless machine;
  HyBuffer* a = machine.buffer(256);
  HyBuffer* b = machine.buffer(256);
  CHECK(machine.copy(slice(a, 0, 64), slice(b, 0, 64)).empty());
  std::uint64_t unused = 0;
  CHECK(machine.backend->timeline_wait(machine.backend->queue_timeline(machine.queue), 1, UINT64_MAX,
                                       nullptr) == HY_OK);
  CHECK(machine.backend->timeline_query(machine.backend->queue_timeline(machine.queue), &unused, nullptr) ==
        HY_OK);
  machine.backend->buffer_destroy(b);
  CHECK(has(machine.copy(slice(a, 0, 64), slice(b, 0, 64)),
            "validation: submit: command 0: the copy's destination was destroyed"));
  LogRecorder log;
  machine.backend->buffer_destroy(b);
  CHECK(log.has("buffer_destroy: the buffer was destroyed already"));
  machine.backend->buffer_destroy(a);
}

TEST_CASE("validation: ranges, patterns and overlapping copies are refused") {
  Careless machine;
  HyBuffer* a = machine.buffer(256);
  HyBuffer* b = machine.buffer(256);
  CHECK(has(machine.copy(slice(a, 200, 64), slice(b, 0, 64)), "spans bytes 200 to 264 of a buffer of 256"));
  CHECK(has(machine.copy(slice(a, UINT64_MAX, 64), slice(b, 0, 64)), "the copy's source spans"));
  CHECK(has(machine.copy(slice(a, 0, 64), slice(a, 32, 64)), "overlap"));
  CHECK(has(machine.copy(slice(a, 0, 64), slice(b, 0, 32)), "a copy of 64 bytes into 32"));
  CHECK(has(machine.fill(slice(a, 2, 8), 4), "a fill of bytes 2 to 10 with a pattern of 4"));
  CHECK(has(machine.fill(slice(a, 0, 9), 3), "1, 2 or 4 bytes, not 3"));
  CHECK(has(machine.copy(slice(nullptr, 0, 4), slice(b, 0, 4)), "has no buffer"));
  machine.backend->buffer_destroy(a);
  machine.backend->buffer_destroy(b);
}

TEST_CASE("validation: misaligned, overlapping and miscounted slices of a dispatch are refused") {
  Careless machine;
  HyBuffer* a = machine.buffer(1024);
  HyBuffer* b = machine.buffer(1024);
  CHECK(machine.dispatch({slice(a, 0, 64), slice(b, 64, 64)}).empty());
  CHECK(has(machine.dispatch({slice(a, 4, 64), slice(b, 0, 64)}),
            "buffer 0 begins at byte 4, which is not a multiple of 64"));
  CHECK(has(machine.dispatch({slice(a, 0, 128), slice(a, 64, 128)}),
            "writes buffer 1, which overlaps buffer 0"));
  CHECK(has(machine.dispatch({slice(a, 0, 64)}), "takes 2 buffers and got 1"));
  CHECK(has(machine.dispatch({slice(a, 0, 64), slice(b, 0, 64)}, 5), "kernel 5 of 2"));
  CHECK(has(machine.dispatch({slice(a, 0, 64), slice(b, 0, 64)}, 0, 70000),
            "70000 workgroups along axis 0; the device allows 65535"));
  CHECK(machine.backend->timeline_wait(machine.backend->queue_timeline(machine.queue), 1, UINT64_MAX,
                                       nullptr) == HY_OK);
  machine.backend->buffer_destroy(a);
  machine.backend->buffer_destroy(b);
}

TEST_CASE("validation: another device's buffers, queues and timelines are refused") {
  Careless machine;
  Careless other(1);
  HyBuffer* mine = machine.buffer(256);
  HyBuffer* foreign = other.buffer(256);
  CHECK(has(machine.copy(slice(mine, 0, 64), slice(foreign, 0, 64)), "is of another device"));
  const HySyncPoint wait{other.backend->queue_timeline(other.queue), 1};
  HySubmission submission{};
  submission.size = sizeof submission;
  submission.waits = &wait;
  submission.wait_count = 1;
  std::uint64_t value = 0;
  CHECK(machine.backend->queue_submit(machine.queue, &submission, &value, &machine.error) ==
        HY_INVALID_ARGUMENT);
  CHECK(has(machine.error.message, "wait 0 is for a timeline that was destroyed or is of another device"));
  CHECK(machine.backend->timeline_signal(machine.backend->queue_timeline(machine.queue), 9, &machine.error) ==
        HY_INVALID_ARGUMENT);
  machine.backend->buffer_destroy(mine);
  other.backend->buffer_destroy(foreign);
}

TEST_CASE("validation: destroying what work still uses is reported and made safe") {
  Careless machine;
  HyBuffer* a = machine.buffer(256);
  LogRecorder log;
  fake::close_gate();
  CHECK(machine.dispatch({}, 1).empty());
  CHECK(machine.fill(slice(a, 0, 64), 4).empty());
  // Opened only once destruction has complained, so that the work is under way when it begins.
  std::thread opener([&] {
    while (!log.has("buffer_destroy")) std::this_thread::yield();
    fake::open_gate();
  });
  machine.backend->buffer_destroy(a);
  opener.join();
  CHECK(log.has("buffer_destroy: submitted work still used the buffer"));
}

TEST_CASE("validation: nodes of a graph that race are refused") {
  Machine machine("fake:0", {.validate = true});
  REQUIRE(machine.device->validated());
  CommandGraphDesc desc;
  desc.buffer_slots = 2;
  desc.nodes.push_back({GraphFill{{0, 0, 64}, 1, 4}, {}});
  desc.nodes.push_back({GraphCopy{{0, 0, 64}, {1, 0, 64}}, {}});
  const auto racing = CommandGraph::create(machine.device, desc);
  REQUIRE(!racing);
  CHECK(mentions(racing.error(), "nodes 0 and 1 touch the same bytes"));
  desc.nodes[1].dependencies = {0};
  CHECK(CommandGraph::create(machine.device, desc));
  desc.nodes[1].dependencies.clear();
  desc.sequential = true;
  CHECK(CommandGraph::create(machine.device, desc));
}

TEST_CASE("validation: a replay whose slots overlap unordered nodes is refused") {
  Machine machine("fake:0", {.validate = true});
  CommandGraphDesc desc;
  desc.buffer_slots = 2;
  desc.nodes.push_back({GraphFill{{0, 0, 64}, 1, 4}, {}});
  desc.nodes.push_back({GraphFill{{1, 0, 64}, 2, 4}, {}});
  const auto graph = value_of(CommandGraph::create(machine.device, desc));
  const auto buffer = machine.words(std::vector<std::uint32_t>(32, 0));
  const std::vector<BufferSlice> apart{BufferSlice(buffer, 0, 64), BufferSlice(buffer, 64, 64)};
  must(value_of(graph->replay(*machine.queue, apart)).wait());
  CHECK(machine.read(buffer)[31] == 2);
  const std::vector<BufferSlice> same{BufferSlice(buffer, 0, 64), BufferSlice(buffer, 32, 64)};
  const auto refused = graph->replay(*machine.queue, same);
  REQUIRE(!refused);
  CHECK(mentions(refused.error(), "neither depends on the other"));
}

TEST_CASE("validation is switched on by HALYARD_VALIDATE=1") {
  const char* before = std::getenv("HALYARD_VALIDATE");
  const std::string saved = before != nullptr ? before : "0";
  ::setenv("HALYARD_VALIDATE", "1", 1);
  CHECK(open("fake:0")->validated());
  ::setenv("HALYARD_VALIDATE", "0", 1);
  CHECK(!open("fake:0")->validated());
  CHECK(open("fake:0", {.validate = true})->validated());
  ::setenv("HALYARD_VALIDATE", saved.c_str(), 1);
}
