#include <halyard/ops/tensor.h>
#include <filesystem>
#include <limits>
#include <sstream>
#include <thread>
#include "test_tensors.h"

namespace halyard::ops::testing {
namespace {

Tensor counting(const Shape& shape) {
  std::int64_t count = shape.count();
  return Tensor::arange(count, ElementType::f32).reshape(shape.vector());
}

using Floats = std::vector<float>;

/// Passes everything to the reference evaluator and notes what it was asked.
class RecordingExecutor final : public Executor {
 public:
  Result<std::vector<StoredTensorRef>> run(const Graph& graph, std::span<const StoredTensorRef> inputs,
                                           const ExecuteOptions& options) override {
    ++runs;
    last_options = options;
    last_text = graph.text();
    std::vector<HostTensor> host;
    for (const StoredTensorRef& input : inputs) host.push_back(input->to_host().value());
    HALYARD_ASSIGN(std::vector<HostTensor> results, evaluate(graph, host));
    std::vector<StoredTensorRef> stored;
    for (HostTensor& result : results) stored.push_back(store(std::move(result)));
    return stored;
  }
  int runs = 0;
  ExecuteOptions last_options;
  std::string last_text;
};

struct ExecutorFixture {
  std::shared_ptr<RecordingExecutor> executor = std::make_shared<RecordingExecutor>();
  ExecutorFixture() { register_executor(executor); }
  ~ExecutorFixture() { register_executor(nullptr); }
};

}  // namespace

TEST_CASE("operators compute, broadcast and take numbers in the tensor's type") {
  Tensor x = counting({2, 3});
  Tensor row = Tensor::from<float>({10, 20, 30});
  CHECK((x + row).values<float>() == Floats{10, 21, 32, 13, 24, 35});
  CHECK((2 * x - 1).values<float>() == Floats{-1, 1, 3, 5, 7, 9});
  CHECK((1 / (x + 1)).values<float>()[1] == 0.5f);
  CHECK((-x).values<float>()[5] == -5);
  Tensor half = x.cast(ElementType::f16) * 0.5;
  CHECK(half.element() == ElementType::f16);
  Tensor integers = Tensor::from<std::int32_t>({7, 8, 9});
  CHECK((integers % 4).values<std::int32_t>() == std::vector<std::int32_t>{3, 0, 1});
  CHECK(((integers << 1) | 1).values<std::int32_t>() == std::vector<std::int32_t>{15, 17, 19});
}

TEST_CASE("comparisons give booleans that where and logic take") {
  Tensor x = Tensor::from<float>({-1, 0, 2});
  CHECK((x > 0).values<bool>() == std::vector<bool>{false, false, true});
  CHECK(where(x > 0, x, x * 0.0 - 5).values<float>() == Floats{-5, -5, 2});
  CHECK(((x >= 0) & !(x == 2)).values<bool>() == std::vector<bool>{false, true, false});
  CHECK((x > 0).any().values<bool>() == std::vector<bool>{true});
  CHECK((x > 0).all().values<bool>() == std::vector<bool>{false});
}

TEST_CASE("a number that the type cannot hold is refused, not truncated") {
  CHECK_THROWS_AS(Tensor::from<std::int32_t>({1}) * 0.5, TensorError);
  CHECK_THROWS_AS(Tensor::from<std::int32_t>({1}) + 3e9, TensorError);
  CHECK_THROWS_AS(Tensor::from<std::uint8_t>({1}) + -1, TensorError);
  CHECK_THROWS_AS(
      static_cast<void>(Tensor::from<std::int64_t>({1}) < std::numeric_limits<double>::infinity()),
      TensorError);
}

TEST_CASE("slicing follows NumPy: numbers, slices, ellipsis and new axes") {
  Tensor x = counting({2, 3, 4});
  CHECK(x[1].shape() == Shape{3, 4});
  CHECK(x[{1, 2, 3}].item() == 23);
  CHECK(x[{-1, -1, -1}].item() == 23);
  CHECK(x[{0, Slice{1, 3}, Slice{{}, {}, -2}}].values<float>() == Floats{7, 5, 11, 9});
  CHECK(x[{ellipsis, 0}].values<float>() == Floats{0, 4, 8, 12, 16, 20});
  CHECK(x[{new_axis, ellipsis, new_axis}].shape() == Shape{1, 2, 3, 4, 1});
  CHECK(x[{Slice{5, 9}}].shape() == Shape{0, 3, 4});
  CHECK_THROWS_AS(x[2], TensorError);
  CHECK_THROWS_AS((x[{0, 0, 0, 0}]), TensorError);
}

TEST_CASE("views move elements") {
  Tensor x = counting({2, 3});
  CHECK(x.transpose().values<float>() == Floats{0, 3, 1, 4, 2, 5});
  CHECK(x.permute({1, 0}).shape() == Shape{3, 2});
  CHECK(x.unsqueeze(1).squeeze().shape() == Shape{2, 3});
  CHECK(x[0].broadcast_to({2, 3}).values<float>() == Floats{0, 1, 2, 0, 1, 2});
  CHECK(concat({x, x + 10}, 0).shape() == Shape{4, 3});
  CHECK(pad(x, {1, 0}, {0, 1}, 9).values<float>() == Floats{9, 9, 9, 9, 0, 1, 2, 9, 3, 4, 5, 9});
  CHECK(reverse(x, {0}).values<float>() == Floats{3, 4, 5, 0, 1, 2});
  CHECK(take(x, Tensor::from<std::int64_t>({2, 0}), 1).values<float>() == Floats{2, 0, 5, 3});
}

TEST_CASE("reductions take axes from either end") {
  Tensor x = counting({2, 3});
  CHECK(x.sum().item() == 15);
  CHECK(x.sum({-1}).values<float>() == Floats{3, 12});
  CHECK(x.mean({0}).values<float>() == Floats{1.5f, 2.5f, 3.5f});
  CHECK(x.max({1}, true).shape() == Shape{2, 1});
  CHECK(x.argmax(1).values<std::int64_t>() == std::vector<std::int64_t>{2, 2});
  CHECK(x.argmin(0).values<std::int64_t>() == std::vector<std::int64_t>{0, 0, 0});
  CHECK((x + 1).prod().item() == 720);
  CHECK(cumulative_sum(x, 1).values<float>() == Floats{0, 1, 3, 3, 7, 12});
}

TEST_CASE("errors are exceptions that carry the code and name the operation") {
  try {
    (void)(counting({2, 3}) + counting({4}));
    FAIL("no exception");
  } catch (const TensorError& error) {
    CHECK(error.error().code == ErrorCode::invalid_argument);
    CHECK(std::string(error.what()).starts_with("add: shapes [2, 3] and [4] do not broadcast"));
  }
  CHECK_THROWS_AS(counting({2}).item(), TensorError);
  CHECK_THROWS_AS(counting({2}).values<double>(), TensorError);
  CHECK_THROWS_AS(Tensor::load("/no/such/file.npy"), TensorError);
}

TEST_CASE("tensors print like NumPy's, long axes shortened") {
  std::ostringstream stream;
  stream << counting({2, 2});
  CHECK(stream.str() == "[[0, 1],\n [2, 3]] f32 [2, 2]");
  CHECK(counting({20}).text() == "[0, 1, 2, …, 17, 18, 19] f32 [20]");
  CHECK(Tensor(1.5).text() == "1.5 f32 []");
  CHECK((counting({2}) > 0).text() == "[false, true] bool [2]");
}

TEST_CASE_FIXTURE(ExecutorFixture, "nothing runs until a value is asked for, and then once") {
  Tensor x = Tensor::from<float>({1, 2});
  Tensor y = exp(x) + x;
  CHECK(executor->runs == 0);
  CHECK_FALSE(y.is_evaluated());
  y.eval();
  CHECK(y.is_evaluated());
  (void)y.values<float>();
  CHECK(executor->runs == 1);
}

TEST_CASE_FIXTURE(ExecutorFixture, "several tensors are evaluated as one graph") {
  Tensor x = Tensor::from<float>({1, 2});
  Tensor shared = exp(x);
  Tensor a = shared + 1;
  Tensor b = shared * 2;
  eval({a, b});
  CHECK(executor->runs == 1);
  CHECK(executor->last_text.find("exp") == executor->last_text.rfind("exp"));
  CHECK((a.is_evaluated() && b.is_evaluated()));
}

TEST_CASE_FIXTURE(ExecutorFixture, "numbers become constants of the graph, data becomes its inputs") {
  (Tensor::from<float>({1, 2}) * 3).eval();
  CHECK(executor->last_text.find("constant(3)") != std::string::npos);
  CHECK(executor->last_text.find("input('input_0') : f32[2]") != std::string::npos);
}

TEST_CASE_FIXTURE(ExecutorFixture, "scopes choose fusion and device for what is evaluated within them") {
  Tensor x = Tensor::from<float>({1});
  (x + 1).eval();
  Fusion outside = executor->last_options.fusion;
  {
    FusionScope off(Fusion::off);
    DeviceScope device("vulkan:0");
    (x + 2).eval();
    CHECK(executor->last_options.fusion == Fusion::off);
    CHECK(executor->last_options.device == "vulkan:0");
    {
      FusionScope on(Fusion::on);
      CHECK(current_fusion() == Fusion::on);
    }
    CHECK(current_fusion() == Fusion::off);
  }
  CHECK(current_fusion() == outside);
  CHECK(current_device().empty());
}

TEST_CASE("the reference executor refuses a device, with a remedy") {
  DeviceScope device("cuda:0");
  CHECK_THROWS_WITH_AS((Tensor::from<float>({1}) + 1).eval(), doctest::Contains("cuda:0"), TensorError);
}

TEST_CASE("an evaluated tensor lets go of what it was computed from") {
  std::weak_ptr<detail::TensorNode> intermediate;
  Tensor y;
  {
    Tensor x = Tensor::from<float>({1, 2});
    Tensor middle = exp(x);
    intermediate = middle.node();
    y = middle + 1;
  }
  CHECK_FALSE(intermediate.expired());
  y.eval();
  CHECK(intermediate.expired());
}

TEST_CASE("a chain of 200000 lazy operations is dropped and a long one evaluated without deep recursion") {
  Tensor x = Tensor::from<float>({0});
  for (int i = 0; i < 200'000; ++i) x = apply(Primitive::neg, {x});
  x = Tensor();
  Tensor y = Tensor::from<float>({0});
  for (int i = 0; i < 3'000; ++i) y = y + 1;
  CHECK(y.item() == 3000);
}

TEST_CASE("two threads may evaluate tensors that share operands") {
  for (int round = 0; round < 20; ++round) {
    Tensor shared = exp(counting({100}));
    float first = 0;
    float second = 0;
    std::thread a([&] { first = (shared + 1).values<float>()[0]; });
    std::thread b([&] { second = shared.values<float>()[0]; });
    a.join();
    b.join();
    CHECK(first == 2);
    CHECK(second == 1);
  }
}

TEST_CASE("tensors are saved to and loaded from .npy files") {
  auto path = std::filesystem::temp_directory_path() / "halyard_tensor_tests.npy";
  (counting({2, 3}) * 2).save(path);
  CHECK(Tensor::load(path).values<float>() == Floats{0, 2, 4, 6, 8, 10});
  std::filesystem::remove(path);
}

}  // namespace halyard::ops::testing
