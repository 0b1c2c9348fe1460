#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "model_writer.h"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using halyard::onnx::testing::ModelWriter;

/// A folder of its own, with a model `softmax(x + x)` of [2, 16] and a cache.
struct Workplace {
  fs::path folder;
  Workplace() {
    std::string name = (fs::temp_directory_path() / "halyard-command-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    folder = name;
    ModelWriter writer;
    writer.input("x", ::onnx::TensorProto::FLOAT, {2, 16}).output("y", ::onnx::TensorProto::FLOAT, {2, 16});
    writer.node("Add", {"x", "x"}, {"twice"});
    writer.node("Softmax", {"twice"}, {"y"});
    std::ofstream(model(), std::ios::binary) << writer.bytes();
  }
  ~Workplace() { fs::remove_all(folder); }
  std::string model() const { return (folder / "model.onnx").string(); }
};

struct Outcome {
  int code = -1;
  std::string text;  ///< standard output and error
};

/// What a program that reads standard output alone gets.
constexpr const char* output_only = "2>/dev/null";

/// Runs the command in a process of its own, with `settings` ("NAME=value …") in its environment.
Outcome run_halyard(const Workplace& place, const std::string& arguments, const std::string& settings = "",
                    const char* errors = "2>&1") {
  const std::string line = "HALYARD_CACHE_DIR='" + (place.folder / "cache").string() + "' " + settings +
                           " '" + HALYARD_COMMAND + "' " + arguments + " " + errors + " </dev/null";
  std::FILE* pipe = popen(line.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Outcome outcome;
  char chunk[4096];
  for (std::size_t got; (got = std::fread(chunk, 1, sizeof chunk, pipe)) > 0;)
    outcome.text.append(chunk, got);
  const int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return outcome;
}

bool has(const Outcome& outcome, std::string_view text) {
  return outcome.text.find(text) != std::string::npos;
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("what makes no sense on the command line gives exit code 2 and the nearest name") {
  Workplace place;
  const std::string run = "run " + place.model() + " --device cpu --input x=random:2x16";
  struct Case {
    std::string arguments, hint;
  };
  for (const Case& wrong :
       {Case{"devcies", "'devices'"}, Case{"devices --jsn", "'--json'"}, Case{"cache inf", "'info'"},
        Case{"", "devices"}, Case{run + " --fusion offf", "'off'"}, Case{run + " --numerics fastt", "'fast'"},
        Case{"run " + place.model() + " --device cpu --input y=random:2x16", "'x'"},
        Case{"frobnicate", "devices, run, explain, cache"}, Case{"devices --bogus", "--json"},
        Case{"explain " + place.model() + " --open-extent 0", "1 to 1073741824"},
        Case{"run " + place.model() + " --device cpu", "random:2x16"},
        Case{"run " + place.model() + " --device cpu --input x=random:two", "'two'"}}) {
    CAPTURE(wrong.arguments);
    Outcome outcome = run_halyard(place, wrong.arguments);
    CAPTURE(outcome.text);
    CHECK(outcome.code == 2);
    CHECK(has(outcome, wrong.hint));
  }
}

TEST_CASE("what fails at run time gives exit code 1 and says what to do") {
  Workplace place;
  Outcome missing = run_halyard(place, "run nofile.onnx");
  CHECK(missing.code == 1);
  CHECK(has(missing, "nofile.onnx"));
  Outcome device = run_halyard(place, "run " + place.model() + " --device cpuu --input x=random:2x16");
  CHECK(device.code == 1);
  CHECK(has(device, "'cpu'"));
  std::ofstream(place.folder / "broken.onnx") << "no model";
  CHECK(run_halyard(place, "run " + (place.folder / "broken.onnx").string()).code == 1);
}

TEST_CASE("HALYARD_FUSION is on or off") {
  Workplace place;
  const std::string run = "run " + place.model() + " --device cpu --input x=random:2x16";
  Outcome outcome = run_halyard(place, run, "HALYARD_FUSION=maybe");
  CHECK(outcome.code == 2);
  CHECK(has(outcome, "'maybe'"));
}

TEST_CASE("output that cannot be written is a failure, whatever the command") {
  Workplace place;
  const std::string run = "run " + place.model() + " --device cpu --input x=random:2x16";
  for (const std::string& arguments : {run, std::string("devices"), std::string("cache info"),
                                       std::string("--help"), std::string("devices --json")}) {
    CAPTURE(arguments);
    Outcome outcome = run_halyard(place, arguments, "", "2>&1 >/dev/full");
    CHECK(outcome.code == 1);
    CHECK_MESSAGE(has(outcome, "cannot be written"), outcome.text);
  }
}

TEST_CASE("a model that is wrong in itself is the model's failure, not the command line's") {
  Workplace place;
  ModelWriter writer;
  writer.input("x", ::onnx::TensorProto::FLOAT, {2, 16}).output("y", ::onnx::TensorProto::FLOAT, {4, 16});
  ModelWriter::attribute(writer.node("Concat", {"x", "x"}, {"y"}), "axis", 7);
  std::ofstream(place.folder / "axis.onnx", std::ios::binary) << writer.bytes();
  Outcome outcome = run_halyard(place, "explain " + (place.folder / "axis.onnx").string() + " --device cpu");
  CHECK(outcome.code == 1);
  CHECK(has(outcome, "the_Concat"));
}

TEST_CASE("an open dimension has one size over all inputs, given or assumed") {
  Workplace place;
  ModelWriter writer;
  writer.input("x", ::onnx::TensorProto::FLOAT, {-1, 16}).input("z", ::onnx::TensorProto::FLOAT, {-1, 16});
  writer.output("y", ::onnx::TensorProto::FLOAT, {-1, 16});
  writer.node("Add", {"x", "z"}, {"y"});
  const std::string model = (place.folder / "open.onnx").string();
  std::ofstream(model, std::ios::binary) << writer.bytes();
  Outcome given = run_halyard(place, "explain " + model + " --device cpu --input z=5x16");
  CHECK_MESSAGE(given.code == 0, given.text);
  CHECK(has(given, "x [5, 16]"));
  CHECK(run_halyard(place, "explain " + model + " --device cpu").code == 0);
}

TEST_CASE("outputs whose names differ in a slash alone are two files") {
  Workplace place;
  ModelWriter writer;
  writer.input("x", ::onnx::TensorProto::FLOAT, {4}).output("a/b", ::onnx::TensorProto::FLOAT, {4});
  writer.output("a_b", ::onnx::TensorProto::FLOAT, {4});
  writer.node("Exp", {"x"}, {"a/b"});
  writer.node("Neg", {"x"}, {"a_b"});
  const std::string model = (place.folder / "two.onnx").string();
  std::ofstream(model, std::ios::binary) << writer.bytes();
  const fs::path folder = place.folder / "outputs";
  CHECK(run_halyard(place, "run " + model + " --device cpu --input x=random:4 --output " + folder.string())
            .code == 0);
  CHECK(bytes_of(folder / "a_b.npy") != bytes_of(folder / "a_b-2.npy"));
  CHECK(!bytes_of(folder / "a_b-2.npy").empty());
}

TEST_CASE("a file that cannot be written leaves nothing behind") {
  Workplace place;
  const fs::path kernels = place.folder / "kernels";
  // No file may grow beyond 0 bytes: a full disk, for one process.
  const std::string settings =
      "HALYARD_CACHE_DIR=off HALYARD_FUSION=on sh -c 'trap \"\" XFSZ; ulimit -f 0; exec \"$@\"' sh";
  Outcome outcome =
      run_halyard(place, "explain " + place.model() + " --device cpu --emit " + kernels.string(), settings);
  CHECK(outcome.code == 1);
  CHECK_MESSAGE(has(outcome, "disk's free space"), outcome.text);
  CHECK(fs::is_empty(kernels));
  const fs::path outputs = place.folder / "outputs";
  outcome = run_halyard(
      place, "run " + place.model() + " --device cpu --input x=random:2x16 --output " + outputs.string(),
      settings);
  CHECK(outcome.code == 1);
  CHECK_MESSAGE(has(outcome, "is there space"), outcome.text);
  CHECK(fs::is_empty(outputs));
}

TEST_CASE("an input beyond the host's memory says so") {
  Workplace place;
  ModelWriter writer;
  writer.input("x", ::onnx::TensorProto::FLOAT, {-1}).output("y", ::onnx::TensorProto::FLOAT, {-1});
  writer.node("Exp", {"x"}, {"y"});
  const std::string model = (place.folder / "open.onnx").string();
  std::ofstream(model, std::ios::binary) << writer.bytes();
  Outcome outcome = run_halyard(place, "run " + model + " --device cpu --input x=random:1099511627776000");
  CHECK(outcome.code == 1);
  CHECK_MESSAGE(has(outcome, "use a smaller shape"), outcome.text);
}

TEST_CASE("devices tells of every backend and device, as text and as JSON") {
  Workplace place;
  Outcome text = run_halyard(place, "devices");
  CHECK(text.code == 0);
  CHECK(has(text, "cpu"));
  Outcome outcome = run_halyard(place, "devices --json", "", output_only);
  REQUIRE(outcome.code == 0);
  Json json = Json::parse(outcome.text, nullptr, false);
  REQUIRE(json.is_object());
  CHECK(json["backends"].size() >= 2);
  bool found = false;
  for (const Json& device : json["devices"]) {
    found = found || device["uri"] == "cpu";
    for (const char* part : {"limits", "storage_types", "arithmetic_types", "probe", "quirks", "measured"})
      CHECK_MESSAGE(device.contains(part), part);
    CHECK(device["limits"]["max_workgroup_size"].size() == 3);
    CHECK(device["limits"]["max_buffers_per_kernel"] > 0);
    CHECK(device["measured"]["copy_bytes_per_second"] > 0);
    CHECK(device["probe"]["fused_fma"] != "unknown");
  }
  CHECK(found);
}

TEST_CASE("run writes the same bytes fused and unfused, by option and by environment") {
  Workplace place;
  const std::string run = "run " + place.model() + " --device cpu --input x=random:2x16 --output ";
  const std::string folder = place.folder.string();
  Outcome fused_run = run_halyard(place, run + folder + "/on");
  REQUIRE(fused_run.code == 0);
  CHECK(has(fused_run, ": 1 launches"));
  REQUIRE(run_halyard(place, run + folder + "/off --fusion off").code == 0);
  Outcome by_environment = run_halyard(place, run + folder + "/environment", "HALYARD_FUSION=off");
  REQUIRE(by_environment.code == 0);
  CHECK(has(by_environment, " launches"));
  CHECK_FALSE(has(by_environment, ": 1 launches"));
  const std::string fused = bytes_of(place.folder / "on/y.npy");
  CHECK(fused.size() > 2 * 16 * sizeof(float));
  CHECK(fused == bytes_of(place.folder / "off/y.npy"));
  CHECK(fused == bytes_of(place.folder / "environment/y.npy"));
}

TEST_CASE("a second process compiles nothing, and cache info and clear tell of what is kept") {
  Workplace place;
  const std::string run = "run " + place.model() + " --device cpu --input x=random:2x16";
  CHECK(has(run_halyard(place, run), "(1 compiled, 0 from the disk cache)"));
  CHECK(has(run_halyard(place, run), "(0 compiled, 1 from the disk cache)"));
  CHECK(run_halyard(place, "cache info").code == 0);
  CHECK(run_halyard(place, "cache clear").code == 0);
  CHECK(has(run_halyard(place, run), "(1 compiled, 0 from the disk cache)"));
}

TEST_CASE("the profile gives each kernel a time, bytes, FLOPs, fractions and what bounds it") {
  Workplace place;
  Outcome outcome =
      run_halyard(place, "run " + place.model() + " --device cpu --input x=random:2x16 --profile");
  CHECK(outcome.code == 0);
  for (const char* column : {"us meas.", "KB", "MFLOP", "%bw", "%flop", "bound"}) CHECK(has(outcome, column));
}

TEST_CASE("explain says why a kernel is one, as text and as JSON, and emits what a person can read") {
  Workplace place;
  const std::string explain = "explain " + place.model() + " --device cpu --input x=random:2x16";
  CHECK(has(run_halyard(place, explain), "as one rows kernel"));
  Outcome outcome = run_halyard(place, explain + " --json", "", output_only);
  REQUIRE(outcome.code == 0);
  Json json = Json::parse(outcome.text, nullptr, false);
  REQUIRE(json.is_object());
  CHECK(json["clusters"].size() == 1);
  CHECK(json["clusters"][0]["reason"].get<std::string>().find("launches") != std::string::npos);
  const fs::path kernels = place.folder / "kernels";
  REQUIRE(run_halyard(place, explain + " --emit " + kernels.string()).code == 0);
  // The thread program and the code say, where they compute it, which value of the tile program it is.
  for (const fs::directory_entry& entry : fs::directory_iterator(kernels)) {
    const std::string text = bytes_of(entry.path());
    if (entry.path().extension() != ".thread" && entry.path().extension() != ".ll") continue;
    CAPTURE(entry.path().string());
    for (const char* part : {": load in0", ": add", "pass 1 of"})
      CHECK_MESSAGE(text.find(part) != std::string::npos, part);
  }
  CHECK(std::distance(fs::directory_iterator(kernels), fs::directory_iterator()) == 3);
}

TEST_CASE("conformance runs a case by name, lists cases, and refuses what is none") {
  Workplace place;
  const Outcome one =
      run_halyard(place, "conformance --device cpu --case ops/exp/f32/33x7/transposed/ordinary");
  CHECK_MESSAGE(one.code == 0, one.text);
  const Outcome list = run_halyard(place, "conformance --device cpu --suite ops --filter 'ops/erf/*' --list");
  CHECK(list.code == 0);
  CHECK(has(list, "ops/erf/f32/129/plain/ordinary\n"));
  CHECK_FALSE(has(list, "ops/exp/"));
  for (const auto& [arguments, hint] :
       {std::pair{"--suite opps", "did you mean 'ops'?"},
        std::pair{"--filter nothing-like-it", "no case matches"},
        std::pair{"--case ops/exp", "ops/PRIMITIVE"},
        std::pair{"--case ops/expp/f32/1/plain/ordinary", "did you mean 'exp'?"},
        std::pair{"--case ops/exp/f32/1/sideways/ordinary", "no form"}}) {
    const Outcome refused = run_halyard(place, std::string("conformance --device cpu ") + arguments);
    INFO(refused.text);
    CHECK(refused.code != 0);
    CHECK(has(refused, hint));
  }
}

TEST_CASE("bench measures, writes its report, and holds a later run against it") {
  Workplace place;
  const std::string json = (place.folder / "bench.json").string();
  const std::string html = (place.folder / "bench.html").string();
  const std::string bench = "bench --device cpu --filter \"parity/row sums\" --seconds 0 ";
  const Outcome ran = run_halyard(place, bench + "--json " + json + " --html " + html);
  REQUIRE_MESSAGE(ran.code == 0, ran.text);
  std::string text = bytes_of(json);
  const Json report = Json::parse(text);
  CHECK(report["format"] == "halyard-performance");
  const Json& result = report["reports"][0]["results"][0];
  CHECK(result["verdict"] == "passed");
  CHECK(result["fraction"] > 0);
  CHECK(result["launches"] == 1);
  CHECK(bytes_of(html).starts_with("<!doctype html>"));

  // Baselines that no machine reaches and that each one does: nothing here depends on the clock.
  const std::size_t at = text.find("\"fraction\": ") + 12;
  const std::size_t end = text.find(',', at);
  const auto baseline = [&](const char* fraction) {
    std::string changed = text;
    changed.replace(at, end - at, fraction);
    std::ofstream(place.folder / "base.json", std::ios::binary) << changed;
    return run_halyard(place, bench + "--baseline " + (place.folder / "base.json").string());
  };
  const Outcome slower = baseline("1e9");
  CHECK(slower.code == 1);
  CHECK(has(slower, "SLOWER  parity/row sums/1024x4096"));
  const Outcome faster = baseline("1e-9");
  CHECK_MESSAGE(faster.code == 0, faster.text);

  CHECK(run_halyard(place, "bench --device cpu --suite nothing").code == 2);
  CHECK(run_halyard(place, "bench --device cpu --filter nothing").code == 2);
  CHECK(run_halyard(place, bench + "--baseline " + place.model()).code == 1);
  // Refused before anything is measured.
  const Outcome unwritable = run_halyard(place, bench + "--json " + place.folder.string());
  CHECK(unwritable.code == 1);
  CHECK_FALSE(has(unwritable, "parity/row sums/1024x4096 "));
  CHECK(has(run_halyard(place, "bench --list"), "ops/softmax/4096x1024"));
}

TEST_CASE("conformance reports travel: one process writes them, another compares them") {
  Workplace place;
  const std::string json = (place.folder / "a.json").string();
  const std::string html = (place.folder / "a.html").string();
  const Outcome ran = run_halyard(place, "conformance --device cpu --filter ops/add/f32/33x7 --model " +
                                             place.model() + " --json " + json + " --html " + html);
  REQUIRE_MESSAGE(ran.code == 0, ran.text);
  CHECK(Json::parse(bytes_of(json))["format"] == "halyard-conformance");
  CHECK(bytes_of(html).starts_with("<!doctype html>"));
  const Outcome same = run_halyard(place, "conformance compare " + json + " " + json);
  CHECK_MESSAGE(same.code == 0, same.text);
  CHECK(has(same, "other bits in 0"));
  std::string text = bytes_of(json);
  const std::size_t hash = text.find("\"hash\": \"") + 9;
  text.replace(hash, 4, "zzzz");
  std::ofstream(place.folder / "b.json", std::ios::binary) << text;
  const Outcome differs =
      run_halyard(place, "conformance compare " + json + " " + (place.folder / "b.json").string());
  CHECK(differs.code == 1);
  CHECK(has(differs, "bits differ"));
  // Of three, the last two may be the pair that disagrees.
  const Outcome three = run_halyard(
      place, "conformance compare " + json + " " + json + " " + (place.folder / "b.json").string());
  CHECK(three.code == 1);
  CHECK(has(three, "other bits in 0"));
  CHECK(run_halyard(place, "conformance compare " + json + " " + place.model()).code != 0);
  CHECK(run_halyard(place, "conformance compare " + json).code == 2);
}
