#include "fixture.h"

using namespace halyard;
using namespace halyard::conformance;
using namespace halyard::hal;

namespace {

/// Slot 1 = slot 0 + scalar; slot 2 = slot 1 + scalar; then the first word of slot 2 to slot 1.
CommandGraphDesc two_additions(const Rig& rig) {
  CommandGraphDesc desc{.buffer_slots = 3, .scalar_slots = 1};
  desc.nodes.push_back({rig.add_node({0, 0, 256}, {1, 0, 256}), {}});
  desc.nodes.push_back({rig.add_node({1, 0, 256}, {2, 0, 256}), {0}});
  desc.nodes.push_back({GraphCopy{{2, 0, 4}, {1, 0, 4}}, {1}});
  return desc;
}

}  // namespace

TEST_CASE("a graph replays with new buffers and scalars") {
  on_every_device([](Rig& rig) {
    auto graph = value_of(CommandGraph::create(rig.device, two_additions(rig)));
    const std::uint64_t aligned = rig.device->info().storage_alignment;
    for (std::uint32_t round = 1; round < 4; ++round) {
      auto input = rig.words(counting(64, round));
      auto middle = value_of(rig.device->allocate(256 + aligned));
      auto output = rig.words(Words(64, 0));
      const std::vector<BufferSlice> buffers{input, BufferSlice(middle, aligned, 256), output};
      const std::vector<std::vector<std::byte>> scalars{rig.add_scalars(64, 10 * round)};
      must(value_of(graph->replay(*rig.queue, buffers, scalars)).wait(patience));
      CHECK(rig.read(output) == counting(64, round + 20 * round));
      Words expected = counting(64, round + 10 * round);
      expected[0] = round + 20 * round;
      CHECK(rig.read(buffers[1]) == expected);
    }
  });
}

TEST_CASE("replays overlap, each with its own buffers and scalars, and the graph may be dropped meanwhile") {
  on_every_device([](Rig& rig) {
    auto graph = value_of(CommandGraph::create(rig.device, two_additions(rig)));
    auto gate = rig.gate();
    const SyncPoint opened{gate, 1};
    value_of(rig.queue->submit(std::span<const Command>(), {.waits = std::span(&opened, 1)}));
    std::vector<std::shared_ptr<Buffer>> inputs, outputs;
    SyncPoint last;
    auto scratch = value_of(rig.device->allocate(256));
    auto loading = value_of(rig.device->create_queue());
    for (std::uint32_t i = 0; i < 8; ++i) {
      inputs.push_back(value_of(rig.device->allocate(256)));
      const Words values = counting(64, i);
      must(value_of(loading->upload(std::as_bytes(std::span(values)), inputs.back())).wait(patience));
      outputs.push_back(value_of(rig.device->allocate(256)));
      const std::vector<BufferSlice> buffers{inputs.back(), scratch, outputs.back()};
      const std::vector<std::vector<std::byte>> scalars{rig.add_scalars(64, i)};
      last = value_of(graph->replay(*rig.queue, buffers, scalars));
    }
    must(gate->signal(1));
    graph.reset();
    must(last.wait(patience));
    for (std::uint32_t i = 0; i < 8; ++i) CHECK(rig.read(outputs[i]) == counting(64, 3 * i));
  });
}

TEST_CASE("a node is updated for the replays that follow") {
  on_every_device([](Rig& rig) {
    auto graph = value_of(CommandGraph::create(rig.device, two_additions(rig)));
    must(graph->update(1, rig.add_node({0, 0, 256}, {2, 0, 256})));
    auto input = rig.words(counting(64));
    auto middle = rig.words(Words(64, 0));
    auto output = rig.words(Words(64, 0));
    const std::vector<BufferSlice> buffers{input, middle, output};
    const std::vector<std::vector<std::byte>> scalars{rig.add_scalars(64, 4)};
    must(value_of(graph->replay(*rig.queue, buffers, scalars)).wait(patience));
    CHECK(rig.read(output) == counting(64, 4));
    CHECK(!graph->update(1, GraphFill{{2, 0, 4}, 0, 4}));
  });
}

TEST_CASE("each node of a replay has its time stamp") {
  on_every_device([](Rig& rig) {
    auto stamps = TimeStamps::create(rig.device, 3);
    if (!stamps) {
      CHECK(stamps.error().code == ErrorCode::unsupported);
      return;
    }
    auto graph = value_of(CommandGraph::create(rig.device, two_additions(rig)));
    auto input = rig.words(counting(64));
    auto middle = rig.words(Words(64, 0));
    auto output = rig.words(Words(64, 0));
    const std::vector<BufferSlice> buffers{input, middle, output};
    const std::vector<std::vector<std::byte>> scalars{rig.add_scalars(64, 1)};
    must(
        value_of(graph->replay(*rig.queue, buffers, scalars, {.time_stamps = stamps->get()})).wait(patience));
    const auto spans = value_of((*stamps)->read(3));
    CHECK(spans[0].begin_ns <= spans[0].end_ns);
    CHECK(spans[0].end_ns <= spans[1].end_ns);
    CHECK(spans[1].end_ns <= spans[2].end_ns);
  });
}

TEST_CASE("replays of one graph write to time stamps made anew each time") {
  on_every_device([](Rig& rig) {
    if (!TimeStamps::create(rig.device, 3)) return;
    auto graph = value_of(CommandGraph::create(rig.device, two_additions(rig)));
    auto input = rig.words(counting(64));
    auto middle = rig.words(Words(64, 0));
    auto output = rig.words(Words(64, 0));
    const std::vector<BufferSlice> buffers{input, middle, output};
    const std::vector<std::vector<std::byte>> scalars{rig.add_scalars(64, 1)};
    std::uint64_t earlier = 0;
    for (std::uint32_t round = 0; round < 8; ++round) {
      std::vector<std::unique_ptr<TimeStamps>> several;
      // Each time of another size, so that what the device keeps of them lies elsewhere than before.
      for (int i = 0; i < 8; ++i)
        several.push_back(value_of(TimeStamps::create(rig.device, 3 + 100 * round)));
      for (const auto& stamps : several) {
        must(value_of(graph->replay(*rig.queue, buffers, scalars, {.time_stamps = stamps.get()}))
                 .wait(patience));
        const auto spans = value_of(stamps->read(3));
        CHECK(spans[0].begin_ns >= earlier);
        earlier = spans[2].end_ns;
      }
    }
  });
}

TEST_CASE("a module loads again from its native code, where the device gives it out") {
  on_every_device([](Rig& rig) {
    ModuleDesc desc = rig.add_module();
    auto native = value_of(rig.device->load_module(desc))->native();
    if (!native) {
      CHECK_MESSAGE(native.error().code == ErrorCode::unsupported, native.error().message);
      return;
    }
    desc.format = native->format;
    desc.bytes = native->bytes;
    auto a = rig.words(counting(64));
    auto b = rig.words(Words(64, 0));
    Dispatch dispatch = rig.add(a, b, 1);
    dispatch.kernel = value_of(Kernel::find(value_of(rig.device->load_module(desc)), "add_words"));
    must(value_of(rig.queue->submit(std::move(dispatch))).wait(patience));
    CHECK(rig.read(b) == counting(64, 1));
  });
}

TEST_CASE("bytes that are no module, unknown formats and absent kernels are errors that name them") {
  on_every_device([](Rig& rig) {
    ModuleDesc desc = rig.add_module();
    CHECK(!Kernel::find(value_of(rig.device->load_module(desc)), "multiply_words"));
    ModuleDesc unknown = desc;
    unknown.format = "punched-cards";
    const auto refused = rig.device->load_module(unknown);
    REQUIRE(!refused);
    CHECK(refused.error().code == ErrorCode::unsupported);
    CHECK_MESSAGE(mentions(refused.error(), "punched-cards"), refused.error().message);
    for (std::size_t keep : {std::size_t{0}, std::size_t{3}, std::size_t{20}, desc.bytes.size() / 2}) {
      CAPTURE(keep);
      ModuleDesc truncated = desc;
      truncated.bytes.resize(keep);
      CHECK(!rig.device->load_module(truncated));
    }
    ModuleDesc absent = desc;
    absent.kernels[0].entry = "multiply_words";
    CHECK(!rig.device->load_module(absent));
    must(rig.device->status());
  });
}
