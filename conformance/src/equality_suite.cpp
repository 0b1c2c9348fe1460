#include <fmt/format.h>
#include <halyard/fusion/sample_graphs.h>
#include <halyard/hal/registry.h>
#include <halyard/ops/reference.h>
#include <algorithm>
#include <cstring>
#include <set>

#include "graph_checks.h"
#include "ops_case.h"
#include "suites.h"
#include "values.h"

/// The same bits on two devices, under every schedule, with any number of threads, and for a row whatever
/// batch it is in.
namespace halyard::conformance {
namespace {

namespace samples = fusion::samples;

// ---- two devices

Case ops_equality(const OpsCase& description) {
  const std::string name = "equality/" + description.name();
  return {name,
          "equality",
          std::string(ops::name(description.primitive)),
          std::string(halyard::name(description.element)),
          [description](const Subject& subject) {
            const bool avoid_subnormals = allowance_of(subject.info()).flushes_subnormals ||
                                          allowance_of(subject.against->device()->info()).flushes_subnormals;
            auto built = build(description, subject.seed, avoid_subnormals);
            if (!built) return outcome_of(built.error());
            return check_equality(subject, built->graph, built->inputs);
          },
          nullptr,
          description.fast && seed_of(name, 0) % 4 == 0};
}

Case pattern_equality(const samples::Sample& sample) {
  const std::string name = "equality/pattern/" + sample.name;
  return {name,
          "equality",
          sample.name,
          "",
          [sample, name](const Subject& subject) {
            const ops::Graph graph = sample.make();
            const auto seed = static_cast<std::uint32_t>(seed_of(name, subject.seed));
            return check_equality(subject, graph, samples::random_inputs(graph, seed));
          },
          nullptr};
}

// ---- one device, other schedules

/// Kernels have up to so many candidates that differ; the last one here goes round to the first ones.
constexpr std::uint32_t most_candidates = 8;

Outcome check_schedules(const Subject& subject, const ops::Graph& graph, std::uint32_t seed) {
  const std::vector<ops::HostTensor> inputs = samples::random_inputs(graph, seed);
  auto best = compute(*subject.compiler, graph, inputs);
  if (!best) return best.error();
  for (std::uint32_t candidate = 1; candidate < most_candidates; ++candidate) {
    fusion::CompileOptions options;
    options.candidate = candidate;
    auto other = compute(*subject.compiler, graph, inputs, options);
    if (!other) return other.error();
    for (std::size_t i = 0; i < best->outputs.size(); ++i) {
      const std::string difference = first_difference(other->outputs[i], best->outputs[i], false);
      if (!difference.empty())
        return Outcome::fail(fmt::format("output {} under candidate {}: {}", i, candidate, difference));
    }
  }
  return {Verdict::passed, {}, {}, hash_of(best->outputs)};
}

Case schedule_case(const samples::Sample& sample) {
  const std::string name = "equality/schedules/" + slug(sample.name);
  return {name,
          "equality",
          "schedules of " + sample.name,
          "",
          [sample, name](const Subject& subject) {
            return check_schedules(subject, sample.make(),
                                   static_cast<std::uint32_t>(seed_of(name, subject.seed)));
          },
          nullptr,
          seed_of(name, 0) % 4 == 0};
}

// ---- one device, with one thread and with many

/// The subject's device once more, with as many worker threads; unsupported where they cannot be chosen.
tl::expected<std::shared_ptr<fusion::Compiler>, Outcome> with_threads(const Subject& subject,
                                                                      std::uint32_t threads) {
  auto device = hal::Registry::shared().open(subject.info().uri, {.worker_threads = threads});
  if (!device) return tl::unexpected(outcome_of(device.error()));
  if ((*device)->info().compute_units != threads)
    return tl::unexpected(
        Outcome{Verdict::unsupported, "how many threads this device has cannot be chosen", {}, ""});
  auto compiler = fusion::Compiler::create(*device);
  if (!compiler) return tl::unexpected(outcome_of(compiler.error()));
  return *compiler;
}

Outcome check_threads(const Subject& subject, const ops::Graph& graph, std::uint32_t seed) {
  const std::vector<ops::HostTensor> inputs = samples::random_inputs(graph, seed);
  auto best = compute(*subject.compiler, graph, inputs);
  if (!best) return best.error();
  const std::uint32_t all = subject.info().compute_units;
  if (all < 2) return {Verdict::unsupported, "this device has one thread", {}, ""};
  for (std::uint32_t threads : std::set{1u, all / 2, all - 1}) {
    auto compiler = with_threads(subject, threads);
    if (!compiler) return compiler.error();
    auto other = compute(**compiler, graph, inputs);
    if (!other) return other.error();
    for (std::size_t i = 0; i < best->outputs.size(); ++i) {
      const std::string difference = first_difference(other->outputs[i], best->outputs[i], false);
      if (!difference.empty())
        return Outcome::fail(fmt::format("output {} with {} threads: {}", i, threads, difference));
    }
  }
  return {Verdict::passed, {}, {}, hash_of(best->outputs)};
}

Case threads_case(const samples::Sample& sample) {
  const std::string name = "equality/threads/" + slug(sample.name);
  return {name,
          "equality",
          "threads of " + sample.name,
          "",
          [sample, name](const Subject& subject) {
            return check_threads(subject, sample.make(),
                                 static_cast<std::uint32_t>(seed_of(name, subject.seed)));
          },
          nullptr,
          seed_of(name, 0) % 4 == 0};
}

// ---- one device, the mode that is the same everywhere

/// What the reference evaluator gives with a fused multiply-add, whatever the device has.
Outcome check_reproducible(const Subject& subject, const ops::Graph& graph,
                           std::span<const ops::HostTensor> inputs) {
  fusion::CompileOptions options;
  options.numerics = fusion::Numerics::reproducible;
  auto computed = compute(*subject.compiler, graph, inputs, options);
  if (!computed) return computed.error();
  ops::NumericClass fused;
  fused.fused_fma = true;
  auto reference = ops::evaluate(graph, inputs, fused);
  if (!reference) return outcome_of(reference.error());
  const bool flushes = allowance_of(subject.info()).flushes_subnormals;
  for (std::size_t i = 0; i < reference->size(); ++i) {
    const std::string difference = first_difference(computed->outputs[i], (*reference)[i], flushes);
    if (!difference.empty()) return Outcome::fail(fmt::format("output {}: {}", i, difference));
  }
  return {Verdict::passed, {}, {}, hash_of(computed->outputs)};
}

Case reproducible_pattern(const samples::Sample& sample) {
  const std::string name = "equality/reproducible/" + slug(sample.name);
  return {name,
          "equality",
          "reproducible " + sample.name,
          "",
          [sample, name](const Subject& subject) {
            const ops::Graph graph = sample.make();
            const auto seed = static_cast<std::uint32_t>(seed_of(name, subject.seed));
            return check_reproducible(subject, graph, samples::random_inputs(graph, seed));
          },
          nullptr,
          false};
}

/// fma itself, and products, on values of every kind.
Case reproducible_operation(const OpsCase& description) {
  const std::string name = "equality/reproducible/" + description.name();
  return {name,
          "equality",
          "reproducible " + std::string(ops::name(description.primitive)),
          std::string(halyard::name(description.element)),
          [description](const Subject& subject) {
            auto built = build(description, subject.seed, allowance_of(subject.info()).flushes_subnormals);
            if (!built) return outcome_of(built.error());
            return check_reproducible(subject, built->graph, built->inputs);
          },
          nullptr,
          description.primitive == ops::Primitive::fma};
}

void list_reproducible(std::vector<Case>& cases) {
  using ops::Primitive;
  for (const samples::Sample& sample : samples::all()) cases.push_back(reproducible_pattern(sample));
  for (ElementType element : {ElementType::f32, ElementType::f64}) {
    const std::int64_t specials = special_count(element);
    for (const char* values : {"ordinary", "special", "moderate"})
      cases.push_back(reproducible_operation(
          {Primitive::fma, element, std::nullopt, {specials * specials * specials}, "plain", values}));
    cases.push_back(reproducible_operation(
        {Primitive::dot_general, element, std::nullopt, {7, 600, 9}, "plain", "ordinary"}));
  }
}

// ---- one device, two batches

/// The first `rows` of a tensor along its first axis.
ops::HostTensor head(const ops::HostTensor& tensor, const ops::Shape& shape) {
  ops::HostTensor result = ops::HostTensor::allocate(tensor.element(), shape).value();
  if (result.byte_count() > 0) std::memcpy(result.mutable_data(), tensor.data(), result.byte_count());
  return result;
}

struct BatchPattern {
  std::string_view name;
  ops::Graph (*make)(std::int64_t batch);
};
constexpr BatchPattern batch_patterns[] = {
    {"elementwise", [](std::int64_t batch) { return samples::elementwise_chain(batch, 131); }},
    {"softmax", [](std::int64_t batch) { return samples::softmax(batch, 517); }},
    {"layer_norm", [](std::int64_t batch) { return samples::layer_norm_residual(batch, 96); }},
    {"linear", [](std::int64_t batch) { return samples::linear_gelu_residual(batch, 600, 40); }},
    {"attention", [](std::int64_t batch) { return samples::attention(batch, 15, 3, 96); }},
    {"encoder_layer", [](std::int64_t batch) { return samples::encoder_layer(batch, 15, 3, 96); }},
};

/// The first row alone has the bits that it has within 5 and within 32.
Outcome check_batch(const BatchPattern& pattern, const Subject& subject, std::uint32_t seed) {
  const ops::Graph large = pattern.make(32);
  const std::vector<ops::HostTensor> inputs = samples::random_inputs(large, seed);
  auto whole = compute(*subject.compiler, large, inputs);
  if (!whole) return whole.error();
  for (std::int64_t batch : {1, 5}) {
    const ops::Graph small = pattern.make(batch);
    std::vector<ops::HostTensor> part;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      part.push_back(head(inputs[i], small.node(small.inputs()[i]).shape));
    auto alone = compute(*subject.compiler, small, part);
    if (!alone) return alone.error();
    const ops::HostTensor& got = alone->outputs[0];
    const std::string difference = first_difference(got, head(whole->outputs[0], got.shape()), false);
    if (!difference.empty())
      return Outcome::fail(fmt::format("batch {} differs from batch 32: {}", batch, difference));
  }
  return {Verdict::passed, {}, {}, hash_of(whole->outputs)};
}

Case batch_case(const BatchPattern& pattern) {
  const std::string name = fmt::format("equality/batch/{}", pattern.name);
  return {name,
          "equality",
          fmt::format("batch of {}", pattern.name),
          "",
          [pattern, name](const Subject& subject) {
            return check_batch(pattern, subject, static_cast<std::uint32_t>(seed_of(name, subject.seed)));
          },
          nullptr};
}

/// Of each primitive and type the cases on random values and on special ones; views and sizes are the ops
/// suite's.
bool compares_devices(const OpsCase& c) {
  return c.form.find("stepped") == std::string::npos && c.form.find("reversed") == std::string::npos &&
         c.form.find("offset") == std::string::npos && c.form.find("broadcast") == std::string::npos &&
         c.values != "all" && c.values != "sparse";
}

std::vector<Case> list(const Subject& subject) {
  std::vector<Case> cases;
  for (const BatchPattern& pattern : batch_patterns) cases.push_back(batch_case(pattern));
  for (const samples::Sample& sample : samples::all()) cases.push_back(schedule_case(sample));
  for (const samples::Sample& sample : samples::all()) cases.push_back(threads_case(sample));
  list_reproducible(cases);
  if (!subject.against) return cases;
  for (const samples::Sample& sample : samples::all()) cases.push_back(pattern_equality(sample));
  for (const OpsCase& description : listed_ops_cases())
    if (compares_devices(description)) cases.push_back(ops_equality(description));
  return cases;
}

Result<Case> parse(std::string_view name, const Subject& subject) {
  for (Case& each : list(subject))
    if (each.name == name) return std::move(each);
  constexpr std::string_view prefix = "equality/";
  if (!subject.against)
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("'{}' compares two devices, or is no case: name the other device with --against", name));
  HALYARD_ASSIGN(OpsCase description, OpsCase::parse(name.substr(prefix.size())));
  return ops_equality(description);
}

}  // namespace

Suite equality_suite() {
  return {"equality",
          "the same bits in every batch, under every schedule, with any number of threads and, with "
          "--against, on two "
          "devices",
          list, parse};
}

}  // namespace halyard::conformance
