#include <fmt/format.h>
#include <halyard/fusion/executable.h>
#include <halyard/hal/registry.h>
#include <halyard/ops/graph_builder.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "give_up.h"

/// The largest error of each unary f32 function over all 2^32 arguments, on a device, against the C library's
/// double precision functions (whose error, below 2^-28 of a unit of f32, does not show). What is done is
/// kept in a file after every 2^24 arguments, so that a run that was stopped goes on where it was.
namespace halyard::conformance {
namespace {

using ops::Primitive;
using Json = nlohmann::json;

constexpr std::int64_t chunk_bits = 24;
constexpr std::int64_t chunk_count = std::int64_t{1} << (32 - chunk_bits);

struct Function {
  Primitive primitive;
  double (*exact)(double);
};

const Function functions[] = {
    {Primitive::sqrt, [](double x) { return std::sqrt(x); }},
    {Primitive::rsqrt, [](double x) { return 1 / std::sqrt(x); }},
    {Primitive::reciprocal, [](double x) { return 1 / x; }},
    {Primitive::exp, [](double x) { return std::exp(x); }},
    {Primitive::exp2, [](double x) { return std::exp2(x); }},
    {Primitive::expm1, [](double x) { return std::expm1(x); }},
    {Primitive::log, [](double x) { return std::log(x); }},
    {Primitive::log2, [](double x) { return std::log2(x); }},
    {Primitive::log1p, [](double x) { return std::log1p(x); }},
    {Primitive::sin, [](double x) { return std::sin(x); }},
    {Primitive::cos, [](double x) { return std::cos(x); }},
    {Primitive::tan, [](double x) { return std::tan(x); }},
    {Primitive::asin, [](double x) { return std::asin(x); }},
    {Primitive::acos, [](double x) { return std::acos(x); }},
    {Primitive::atan, [](double x) { return std::atan(x); }},
    {Primitive::sinh, [](double x) { return std::sinh(x); }},
    {Primitive::cosh, [](double x) { return std::cosh(x); }},
    {Primitive::tanh, [](double x) { return std::tanh(x); }},
    {Primitive::erf, [](double x) { return std::erf(x); }},
    {Primitive::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
};

/// |got − exact| in units in the last place of f32 at exact; infinite where NaN or infinities do not match.
double ulp_distance(float got, double exact) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(exact)) return std::isnan(got) ? 0 : wrong;
  const auto nearest = static_cast<float>(exact);
  if (std::isinf(nearest)) {
    // Past the largest f32: infinity is right, and so is the largest one within a unit.
    if (got == nearest) return 0;
    return std::isinf(exact) || std::isinf(got) ? wrong : std::fabs(got - exact) / 0x1p104;
  }
  int exponent = 0;
  std::frexp(exact, &exponent);
  const double distance = std::fabs(got - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
  return std::isnan(distance) ? wrong : distance;
}

struct Worst {
  double ulp = -1;
  float argument = 0;
  Worst merged(const Worst& other) const { return other.ulp > ulp ? other : *this; }
};

/// What is known of one function: chunks done, and the worst in them.
struct Progress {
  std::int64_t chunks = 0;
  Worst worst;
};

Worst worst_of(const Function& function, std::span<const float> arguments, std::span<const float> values) {
  return tbb::parallel_reduce(
      tbb::blocked_range<std::size_t>(0, values.size(), 1 << 14), Worst{},
      [&](const tbb::blocked_range<std::size_t>& range, Worst worst) {
        for (std::size_t i = range.begin(); i < range.end(); ++i)
          worst = worst.merged({ulp_distance(values[i], function.exact(arguments[i])), arguments[i]});
        return worst;
      },
      [](const Worst& a, const Worst& b) { return a.merged(b); });
}

class Measurement {
 public:
  Measurement(const std::string& uri, std::filesystem::path state)
      : state_path_(std::move(state)),
        compiler_(value_of(fusion::Compiler::create(value_of(hal::Registry::shared().open(uri))))) {
    const hal::DeviceInfo& info = compiler_->device()->info();
    device_ = fmt::format("{} ({}), driver {}", info.uri, info.name, info.driver_version);
    load();
  }

  const std::string& device() const { return device_; }
  void measure(const Function& function, std::int64_t first_chunk, std::int64_t end_chunk);
  const Progress& progress(Primitive primitive) { return progress_[std::string(ops::name(primitive))]; }

 private:
  void load();
  void save() const;

  std::filesystem::path state_path_;
  std::shared_ptr<fusion::Compiler> compiler_;
  std::string device_;
  std::map<std::string, Progress> progress_;
};

void Measurement::load() {
  std::ifstream file(state_path_);
  if (!file) return;
  const auto worst = [](const Json& json) {
    return Worst{std::strtod(json.at("ulp").get_ref<const std::string&>().c_str(), nullptr),
                 std::bit_cast<float>(json.at("bits").get<std::uint32_t>())};
  };
  bool is_ours = false;
  try {
    const Json state = Json::parse(file);
    is_ours = state.at("device") == device_;
    if (is_ours)
      for (const auto& [name, entry] : state.at("functions").items())
        progress_[name] = {entry.at("chunks"), worst(entry.at("worst"))};
  } catch (const Json::exception&) {
    is_ours = false;
  }
  if (!is_ours)
    give_up(fmt::format("'{}' is no state of a measurement on {}; name another file or remove it",
                        state_path_.string(), device_));
}

/// Written beside the old one and renamed over it: a stop in between loses nothing.
void Measurement::save() const {
  Json state{{"device", device_}, {"functions", Json::object()}};
  const auto json = [](const Worst& worst) {
    // As text: JSON has no infinity.
    return Json{{"ulp", fmt::format("{}", worst.ulp)},
                {"bits", std::bit_cast<std::uint32_t>(worst.argument)}};
  };
  for (const auto& [name, each] : progress_)
    state["functions"][name] = {{"chunks", each.chunks}, {"worst", json(each.worst)}};
  std::filesystem::path written = state_path_;
  written += ".new";
  std::ofstream(written) << state.dump(1) << '\n';
  std::filesystem::rename(written, state_path_);
}

void show(std::string_view name, std::int64_t done, std::int64_t total, double worst) {
  if (isatty(STDERR_FILENO) == 0) return;
  constexpr int width = 40;
  const int filled = static_cast<int>(done * width / total);
  fmt::print(stderr, "\r{:<10} [{:<{}}] {:3}%  worst {:.3f} ULP ", name,
             std::string(static_cast<std::size_t>(filled), '#'), width, done * 100 / total, worst);
  if (done == total) fmt::print(stderr, "\n");
}

void Measurement::measure(const Function& function, std::int64_t first_chunk, std::int64_t end_chunk) {
  const std::string name(ops::name(function.primitive));
  Progress& progress = progress_[name];
  constexpr std::int64_t count = std::int64_t{1} << chunk_bits;
  ops::Graph graph;
  ops::GraphBuilder builder(graph);
  const ops::NodeId x = value_of(builder.input("x", ElementType::f32, {count}));
  must(graph.output(value_of(builder.unary(function.primitive, x)), "y"));
  const auto executable = value_of(compiler_->compile(graph));
  std::vector<ops::HostTensor> inputs{value_of(ops::HostTensor::allocate(ElementType::f32, {count}))};
  for (std::int64_t chunk = std::max(first_chunk, progress.chunks); chunk < end_chunk; ++chunk) {
    auto* bits = reinterpret_cast<std::uint32_t*>(inputs[0].mutable_data());
    for (std::int64_t i = 0; i < count; ++i) bits[i] = static_cast<std::uint32_t>(chunk * count + i);
    const std::vector<ops::HostTensor> outputs = value_of(executable->run(inputs));
    progress.worst =
        progress.worst.merged(worst_of(function, inputs[0].values<float>(), outputs[0].values<float>()));
    progress.chunks = chunk + 1;
    save();
    show(name, progress.chunks, end_chunk, progress.worst.ulp);
  }
}

int run(int argc, char** argv) {
  std::string uri = "cpu", state = "function_errors.json";
  std::vector<std::string> wanted;
  std::int64_t chunks = chunk_count;
  CLI::App application{"Measures the largest error of each unary f32 function over all 2^32 arguments"};
  application.add_option("-d,--device", uri, "Device URI (default cpu)");
  application.add_option("--state", state,
                         "Where results are kept and gone on from (default function_errors.json)");
  application.add_option("--function", wanted, "Only this one; repeatable");
  application.add_option("--chunks", chunks, "Only the first so many of 256 parts of 2^24 arguments")
      ->check(CLI::Range(std::int64_t{1}, chunk_count));
  CLI11_PARSE(application, argc, argv);
  for (const std::string& name : wanted)
    if (std::none_of(std::begin(functions), std::end(functions),
                     [&](const Function& each) { return ops::name(each.primitive) == name; }))
      give_up(fmt::format("'{}' is no unary f32 function of the table", name));
  Measurement measurement(uri, state);
  fmt::print("{}\n| function | worst, ULP | at | bound |\n| --- | ---: | ---: | ---: |\n",
             measurement.device());
  bool holds = true;
  for (const Function& function : functions) {
    const std::string name(ops::name(function.primitive));
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;
    measurement.measure(function, 0, chunks);
    const Worst& worst = measurement.progress(function.primitive).worst;
    const double bound = ops::row(function.primitive).error.ulp_f32;
    holds = holds && worst.ulp <= bound;
    fmt::print("| {} | {:.3f} | {:a} | {} |\n", name, worst.ulp, worst.argument, bound);
    std::fflush(stdout);
  }
  return holds ? 0 : 1;
}

}  // namespace
}  // namespace halyard::conformance

int main(int argc, char** argv) {
  return halyard::conformance::run(argc, argv);
}
