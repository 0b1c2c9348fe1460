#include <thread>

#include "fixture.h"
#include "halyard/hal/command_graph.h"

using namespace halyard;
using namespace halyard::hal;
using namespace halyard::hal::testing;

namespace {

/// slot 1 = slot 0 * scalar 0; slot 2 = slot 1 + slot 0; a copy of the first word of slot 2 to slot 1.
CommandGraphDesc arithmetic(const Machine& machine) {
  CommandGraphDesc desc;
  desc.buffer_slots = 3;
  desc.scalar_slots = 1;
  desc.nodes.push_back(
      {GraphDispatch{
           .kernel = machine.kernel("scale_words"), .buffers = {{0, 0, 64}, {1, 0, 64}}, .scalar_slot = 0},
       {}});
  desc.nodes.push_back(
      {GraphDispatch{.kernel = machine.kernel("add_words"), .buffers = {{1, 0, 64}, {0, 0, 64}, {2, 0, 64}}},
       {0}});
  desc.nodes.push_back({GraphCopy{{2, 0, 4}, {1, 0, 4}}, {1}});
  return desc;
}

std::vector<std::vector<std::byte>> factor(std::uint32_t value) {
  return {ScalarBlock().add(value).bytes()};
}

}  // namespace

TEST_CASE("a graph replays with new buffers and scalars, recorded by the backend or submitted by hal") {
  for (const char* uri : {"fake:0", "fake:1", "bare"}) {
    CAPTURE(uri);
    Machine machine(uri);
    const auto graph = value_of(CommandGraph::create(machine.device, arithmetic(machine)));
    for (std::uint32_t round = 1; round < 4; ++round) {
      const auto input = machine.words(std::vector<std::uint32_t>(16, round));
      const auto middle = machine.words(std::vector<std::uint32_t>(64, 0));
      const auto output = machine.words(std::vector<std::uint32_t>(16, 0));
      const std::vector<BufferSlice> buffers{input, BufferSlice(middle, 64, 64), output};
      value_of(graph->replay(*machine.queue, buffers, factor(10)));
      CHECK(machine.read(output)[15] == 11 * round);
      CHECK(machine.read(middle)[16] == 11 * round);
      CHECK(machine.read(middle)[17] == 10 * round);
      CHECK(machine.read(middle)[0] == 0);
    }
  }
}

TEST_CASE("a node is updated for the replays that follow") {
  for (const char* uri : {"fake:0", "bare"}) {
    Machine machine(uri);
    const auto graph = value_of(CommandGraph::create(machine.device, arithmetic(machine)));
    must(graph->update(1, GraphDispatch{.kernel = machine.kernel("add_words"),
                                        .buffers = {{1, 0, 64}, {1, 0, 64}, {2, 0, 64}}}));
    const auto input = machine.words(std::vector<std::uint32_t>(16, 1));
    const auto middle = machine.words(std::vector<std::uint32_t>(16, 0));
    const auto output = machine.words(std::vector<std::uint32_t>(16, 0));
    const std::vector<BufferSlice> buffers{input, middle, output};
    value_of(graph->replay(*machine.queue, buffers, factor(4)));
    CHECK(machine.read(output)[15] == 8);
    const Status kind = graph->update(1, GraphFill{{2, 0, 4}, 0, 4});
    REQUIRE(!kind);
    CHECK(mentions(kind.error(), "keeps its kind"));
    CHECK(!graph->update(9, GraphFill{{2, 0, 4}, 0, 4}));
  }
}

TEST_CASE("replays overlap, each with its own arguments") {
  Machine machine;
  const auto graph = value_of(CommandGraph::create(machine.device, arithmetic(machine)));
  std::vector<std::shared_ptr<Buffer>> outputs;
  {
    ClosedGate closed;
    value_of(machine.queue->submit(machine.hold()));
    for (std::uint32_t i = 0; i < 8; ++i) {
      const auto input = value_of(machine.device->allocate(64));
      value_of(machine.queue->submit(Fill{BufferSlice(input), i, 4}));
      outputs.push_back(value_of(machine.device->allocate(64)));
      const std::vector<BufferSlice> buffers{input, value_of(machine.device->allocate(64)), outputs.back()};
      value_of(graph->replay(*machine.queue, buffers, factor(i)));
    }
  }
  for (std::uint32_t i = 0; i < 8; ++i) CHECK(machine.read(outputs[i])[5] == i * i + i);
}

TEST_CASE("a graph that does not fit itself, or a replay that does not fit the graph, is refused") {
  Machine machine;
  const auto refused = [&](CommandGraphDesc desc, std::string_view part) {
    const auto graph = CommandGraph::create(machine.device, std::move(desc));
    REQUIRE(!graph);
    CHECK_MESSAGE(mentions(graph.error(), part), graph.error().message);
  };
  auto desc = arithmetic(machine);
  desc.buffer_slots = 2;
  refused(desc, "node 1: buffer slot 2 of 2");
  desc = arithmetic(machine);
  desc.scalar_slots = 0;
  refused(desc, "node 0: scalar slot 0 of 0");
  desc = arithmetic(machine);
  desc.nodes[0].dependencies = {0};
  refused(desc, "node 0 depends on node 0");

  const auto graph = value_of(CommandGraph::create(machine.device, arithmetic(machine)));
  const auto buffer = machine.words(std::vector<std::uint32_t>(16, 0));
  const auto small = machine.words({1});
  const auto replay = [&](std::vector<BufferSlice> buffers, std::vector<std::vector<std::byte>> scalars) {
    const auto point = graph->replay(*machine.queue, buffers, scalars);
    return point ? std::string() : point.error().message;
  };
  CHECK(replay({buffer, buffer}, factor(1)).find("3 buffer slots") != std::string::npos);
  CHECK(replay({buffer, small, buffer}, factor(1)).find("slot 1 needs 64 bytes and was given 4") !=
        std::string::npos);
  CHECK(replay({buffer, buffer, buffer}, {{}}).find("scalar slot 0 takes 8 bytes") != std::string::npos);
}

TEST_CASE("each node of a replay has its time stamp") {
  Machine machine;
  const auto graph = value_of(CommandGraph::create(machine.device, arithmetic(machine)));
  const auto stamps = value_of(TimeStamps::create(machine.device, 3));
  const std::vector<BufferSlice> buffers{machine.words(std::vector<std::uint32_t>(16, 1)),
                                         machine.words(std::vector<std::uint32_t>(16, 1)),
                                         machine.words(std::vector<std::uint32_t>(16, 1))};
  must(value_of(graph->replay(*machine.queue, buffers, factor(1), {.time_stamps = stamps.get()})).wait());
  const auto spans = value_of(stamps->read(3));
  CHECK(spans[2].end_ns >= spans[0].begin_ns);
  CHECK(spans[0].begin_ns != 0);
}

TEST_CASE("a graph may be dropped while a replay is under way") {
  Machine machine;
  CommandGraphDesc desc;
  desc.nodes.push_back({GraphDispatch{.kernel = machine.kernel("hold")}, {}});
  SyncPoint end;
  auto graph = value_of(CommandGraph::create(machine.device, desc));
  fake::close_gate();
  end = value_of(graph->replay(*machine.queue, {}));
  std::thread opener([] { fake::open_gate(); });
  graph.reset();
  CHECK(end.reached());
  opener.join();
}
