#include <fmt/format.h>
#include <fmt/ranges.h>
#include <halyard/conformance/performance.h>
#include <halyard/fusion/sample_graphs.h>
#include <halyard/ops/compositions.h>
#include <halyard/ops/windowed.h>

/// What is measured. Extents are those that users of the operations have; "parity" repeats them in sizes that
/// software drivers run in a second.
namespace halyard::conformance {
namespace {

using fusion::samples::random_tensor;
using ops::Graph;
using ops::GraphBuilder;
using ops::NodeId;
using ops::Primitive;
using ops::Shape;

constexpr ElementType f32 = ElementType::f32;

/// A graph of one function of inputs; `make` gets the builder.
template <class Make>
Graph graph_of(Make make) {
  Graph graph;
  GraphBuilder builder(graph);
  (void)graph.output(make(builder), "y");
  return graph;
}

NodeId input(GraphBuilder& b, const char* name, const Shape& shape, ElementType element = f32) {
  return b.input(name, element, shape).value();
}
NodeId weight(GraphBuilder& b, const Shape& shape) {
  return b.constant(random_tensor(f32, shape, 7), "weight");
}

std::string text(const Shape& shape) {
  return fmt::format("{}", fmt::join(shape.extents(), "x"));
}

/// Six elementwise operations on two tensors.
Graph chain(std::int64_t count) {
  return graph_of([&](GraphBuilder& b) {
    const NodeId x = input(b, "x", {count}), y = input(b, "y", {count});
    NodeId z = b.binary(Primitive::add, x, y).value();
    z = b.binary(Primitive::mul, z, 0.5).value();
    z = b.binary(Primitive::sub, z, y).value();
    z = b.binary(Primitive::max, z, x).value();
    z = b.binary(Primitive::mul, z, y).value();
    return b.binary(Primitive::add, z, 1.0).value();
  });
}

Graph gelu(std::int64_t count) {
  return graph_of([&](GraphBuilder& b) { return ops::gelu(b, input(b, "x", {count})).value(); });
}

Graph softmax(const Shape& shape) {
  return graph_of([&](GraphBuilder& b) { return ops::softmax(b, input(b, "x", shape)).value(); });
}
Graph layer_norm(const Shape& shape) {
  return graph_of([&](GraphBuilder& b) {
    const Shape row{shape[1]};
    return ops::layer_norm(b, input(b, "x", shape), weight(b, row), weight(b, row), 1e-5).value();
  });
}
Graph rms_norm(const Shape& shape) {
  return graph_of(
      [&](GraphBuilder& b) { return ops::rms_norm(b, input(b, "x", shape), weight(b, {shape[1]})).value(); });
}
Graph sums(const Shape& shape, std::int64_t axis) {
  return graph_of(
      [&](GraphBuilder& b) { return b.reduce(Primitive::reduce_sum, input(b, "x", shape), {axis}).value(); });
}
Graph row_sums(const Shape& shape) {
  return sums(shape, 1);
}
Graph column_sums(const Shape& shape) {
  return sums(shape, 0);
}

/// {m, k, n} or {batch, m, k, n}.
Graph product(const Shape& extents) {
  return graph_of([&](GraphBuilder& b) {
    const bool batched = extents.rank() == 4;
    const std::int64_t m = extents[batched ? 1 : 0], k = extents[batched ? 2 : 1],
                       n = extents[batched ? 3 : 2];
    const Shape left = batched ? Shape{extents[0], m, k} : Shape{m, k};
    const Shape right = batched ? Shape{extents[0], k, n} : Shape{k, n};
    return b.matmul(input(b, "a", left), input(b, "b", right)).value();
  });
}
/// The same with a constant right operand, which is packed when the graph is compiled.
Graph projection(const Shape& extents) {
  return graph_of([&](GraphBuilder& b) {
    return b.matmul(input(b, "x", {extents[0], extents[1]}), weight(b, {extents[1], extents[2]})).value();
  });
}
/// A · x, A an input.
Graph matrix_vector(const Shape& extents) {
  return graph_of([&](GraphBuilder& b) {
    return b.matmul(input(b, "a", {extents[0], extents[1]}), input(b, "x", {extents[1], 1})).value();
  });
}
/// x · W, W constant.
Graph vector_matrix(const Shape& extents) {
  return projection({1, extents[0], extents[1]});
}

/// {batch, channels, height, filters}: 3 x 3, padded to the same size.
Graph convolution(const Shape& extents) {
  return graph_of([&](GraphBuilder& b) {
    ops::WindowOptions options;
    options.before = options.after = {1, 1};
    const NodeId x = input(b, "x", {extents[0], extents[1], extents[2], extents[2]});
    return ops::convolution(b, x, weight(b, {extents[3], extents[1], 3, 3}), options).value();
  });
}

/// {batch, heads, tokens, width of a head}.
Graph attention(const Shape& extents) {
  return graph_of([&](GraphBuilder& b) {
    return ops::attention(b, input(b, "q", extents), input(b, "k", extents), input(b, "v", extents)).value();
  });
}

Graph transpose(const Shape& shape) {
  return graph_of([&](GraphBuilder& b) { return b.permute(input(b, "x", shape), {1, 0}).value(); });
}
Graph to_f16(const Shape& shape) {
  return graph_of([&](GraphBuilder& b) { return b.cast(input(b, "x", shape), ElementType::f16).value(); });
}
Graph cumulative_sum(const Shape& shape) {
  return graph_of([&](GraphBuilder& b) { return b.cumulative_sum(input(b, "x", shape), 1).value(); });
}
Graph sort(const Shape& shape) {
  return graph_of([&](GraphBuilder& b) { return b.argsort(input(b, "x", shape), 1).value(); });
}
/// {rows of the table, width, rows taken}.
Graph embedding(const Shape& extents) {
  return graph_of([&](GraphBuilder& b) {
    const NodeId at = input(b, "at", {extents[2]}, ElementType::i64);
    return ops::embedding(b, weight(b, {extents[0], extents[1]}), at).value();
  });
}
Graph scatter_add(const Shape& extents) {
  return graph_of([&](GraphBuilder& b) {
    const NodeId at = input(b, "at", {extents[2]}, ElementType::i64);
    const NodeId base = input(b, "base", {extents[0], extents[1]});
    return b.scatter(Primitive::scatter_add, base, at, input(b, "updates", {extents[2], extents[1]}), 0)
        .value();
  });
}
/// {batch, tokens, heads, width}.
Graph encoder(const Shape& extents) {
  return fusion::samples::encoder_layer(extents[0], extents[1], extents[2], extents[3]);
}

class List {
 public:
  explicit List(std::string suite) : suite_(std::move(suite)) {}
  void add(const char* operation, Graph (*make)(const Shape&), std::initializer_list<Shape> shapes) {
    for (const Shape& shape : shapes)
      all_.push_back({fmt::format("{}/{}/{}", suite_, operation, text(shape)), suite_, operation,
                      [make, shape] { return make(shape); }, indices_});
  }
  void add(const char* operation, Graph (*make)(std::int64_t), std::initializer_list<std::int64_t> counts) {
    for (std::int64_t count : counts)
      all_.push_back({fmt::format("{}/{}/{}", suite_, operation, count), suite_, operation,
                      [make, count] { return make(count); }, indices_});
  }
  /// Of the benchmarks added from here on.
  void set_indices(std::int64_t below) { indices_ = below; }
  std::vector<Benchmark> take() { return std::move(all_); }

 private:
  std::string suite_;
  std::int64_t indices_ = 2;
  std::vector<Benchmark> all_;
};

std::vector<Benchmark> operations() {
  const std::initializer_list<Shape> rows = {{4096, 1024}, {4096, 4096}, {64, 262144}};
  List list("ops");
  list.add("chain of 6", chain, {1 << 20, 1 << 26});
  list.add("gelu", gelu, {1 << 24});
  list.add("softmax", softmax, rows);
  list.add("layer norm", layer_norm, rows);
  list.add("rms norm", rms_norm, rows);
  list.add("row sums", row_sums, rows);
  list.add("column sums", column_sums, rows);
  list.add("product", product,
           {{1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 384, 1536}, {128, 384, 384}, {96, 128, 64, 128}});
  list.add("product with weights", projection, {{4096, 384, 1536}, {128, 384, 384}});
  list.add("matrix times vector", matrix_vector, {{4096, 4096}});
  list.add("vector times weights", vector_matrix, {{4096, 4096}});
  list.add("convolution 3x3", convolution,
           {{1, 64, 56, 64},
            {1, 128, 28, 128},
            {1, 256, 14, 256},
            {1, 512, 7, 512},
            {8, 64, 56, 64},
            {8, 128, 28, 128},
            {8, 256, 14, 256},
            {8, 512, 7, 512}});
  list.add("attention", attention, {{1, 12, 128, 32}, {8, 12, 128, 64}, {1, 16, 1024, 64}});
  list.add("transpose", transpose, {{4096, 4096}});
  list.add("cast to f16", to_f16, {{4096, 4096}});
  list.add("cumulative sum", cumulative_sum, {{1024, 4096}});
  list.add("argsort", sort, {{256, 1024}});
  list.set_indices(30522);
  list.add("embedding", embedding, {{30522, 384, 4096}});
  list.set_indices(1024);
  list.add("scatter-add", scatter_add, {{1024, 384, 1024}});
  return list.take();
}

std::vector<Benchmark> models() {
  List list("models");
  list.add("encoder layer", encoder,
           {{1, 32, 12, 384}, {8, 128, 12, 384}, {32, 256, 12, 384}, {8, 512, 12, 768}});
  return list.take();
}

std::vector<Benchmark> small_operations() {
  List list("parity");
  list.add("chain of 6", chain, {1 << 22});
  list.add("gelu", gelu, {1 << 21});
  list.add("softmax", softmax, {{1024, 1024}});
  list.add("layer norm", layer_norm, {{1024, 1024}});
  list.add("row sums", row_sums, {{1024, 4096}});
  list.add("column sums", column_sums, {{4096, 1024}});
  list.add("product", product, {{512, 512, 512}});
  list.add("product with weights", projection, {{512, 384, 384}});
  list.add("vector times weights", vector_matrix, {{2048, 2048}});
  list.add("convolution 3x3", convolution, {{1, 64, 28, 64}});
  list.add("attention", attention, {{2, 12, 128, 32}});
  list.add("transpose", transpose, {{1024, 2048}});
  list.add("encoder layer", encoder, {{2, 64, 12, 384}});
  list.set_indices(8192);
  list.add("embedding", embedding, {{8192, 384, 2048}});
  return list.take();
}

}  // namespace

const std::vector<Benchmark>& benchmarks() {
  static const std::vector<Benchmark> all = [] {
    std::vector<Benchmark> list = operations();
    for (auto* more : {&models, &small_operations})
      for (Benchmark& each : (*more)()) list.push_back(std::move(each));
    return list;
  }();
  return all;
}

}  // namespace halyard::conformance
