#include <halyard/fusion/sample_graphs.h>

#include <halyard/ops/indexing.h>
#include <halyard/ops/windowed.h>
#include <optional>
#include <random>

namespace halyard::fusion::samples {

using ops::Graph;
using ops::GraphBuilder;
using ops::HostTensor;
using ops::NodeId;
using ops::Primitive;
using ops::Shape;

HostTensor random_tensor(ElementType element, const Shape& shape, std::uint32_t seed) {
  HostTensor tensor = HostTensor::allocate(element, shape).value();
  std::mt19937 random(seed);
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    std::uint32_t number = random();
    double value = is_float(element)
                       ? static_cast<double>(number >> 8) / (1 << 22) - 2.0
                       : static_cast<double>(number % (element == ElementType::boolean ? 2 : 13));
    tensor.set_bits_at(i, HostTensor::scalar(element, value).bits_at(0));
  }
  return tensor;
}

std::vector<HostTensor> random_inputs(const Graph& graph, std::uint32_t seed) {
  std::vector<HostTensor> inputs;
  for (NodeId input : graph.inputs())
    inputs.push_back(random_tensor(graph.node(input).element, graph.node(input).shape, seed++));
  return inputs;
}

namespace {

NodeId weight(GraphBuilder& b, const Shape& shape, std::uint32_t seed) {
  return b.constant(random_tensor(ElementType::f32, shape, seed), "weight");
}

NodeId normalized(GraphBuilder& b, NodeId x, std::int64_t width, std::uint32_t seed) {
  return ops::layer_norm(b, x, weight(b, {width}, seed), weight(b, {width}, seed + 1), 1e-12).value();
}

NodeId projection(GraphBuilder& b, NodeId x, std::int64_t in, std::int64_t out, std::uint32_t seed) {
  NodeId product = b.matmul(x, weight(b, {in, out}, seed)).value();
  return b.binary(Primitive::add, product, weight(b, {out}, seed + 1)).value();
}

NodeId heads_apart(GraphBuilder& b, NodeId x, std::int64_t heads, std::vector<std::int64_t> order) {
  Shape shape = b.shape(x);
  NodeId split = b.reshape(x, {shape[0], shape[1], heads, shape[2] / heads}).value();
  return b.permute(split, std::move(order)).value();
}

NodeId attended(GraphBuilder& b, NodeId q, NodeId k, NodeId v, NodeId mask, std::int64_t heads) {
  Shape shape = b.shape(q);
  NodeId scores =
      b.matmul(heads_apart(b, q, heads, {0, 2, 1, 3}), heads_apart(b, k, heads, {0, 2, 3, 1})).value();
  scores = b.binary(Primitive::div, scores, 5.656854152679443).value();
  scores = b.binary(Primitive::add, scores, mask).value();
  NodeId weights = ops::softmax(b, scores).value();
  NodeId context = b.matmul(weights, heads_apart(b, v, heads, {0, 2, 1, 3})).value();
  return b.reshape(b.permute(context, {0, 2, 1, 3}).value(), {shape[0], shape[1], shape[2]}).value();
}

NodeId additive_mask(GraphBuilder& b, std::int64_t batch, std::int64_t tokens) {
  NodeId mask = b.input("attention_mask", ElementType::i64, {batch, tokens}).value();
  NodeId wide = b.cast(b.unsqueeze(mask, {1, 2}).value(), ElementType::f32).value();
  NodeId inverse = b.binary(Primitive::sub, b.scalar(ElementType::f32, 1), wide).value();
  return b.binary(Primitive::mul, inverse, -10000.0).value();
}

}  // namespace

Graph elementwise_chain(std::int64_t rows, std::int64_t columns) {
  Graph graph;
  GraphBuilder b(graph);
  NodeId x = b.input("x", ElementType::f32, {rows, columns}).value();
  NodeId row = b.input("row", ElementType::f32, {columns}).value();
  NodeId sum = b.binary(Primitive::add, x, row).value();
  NodeId gate = b.unary(Primitive::sigmoid, sum).value();
  NodeId scaled = b.binary(Primitive::mul, b.binary(Primitive::mul, sum, gate).value(), 0.5).value();
  (void)graph.output(scaled, "scaled");
  (void)graph.output(b.unary(Primitive::tanh, gate).value(), "gate");
  return graph;
}

Graph softmax(std::int64_t rows, std::int64_t columns) {
  Graph graph;
  GraphBuilder b(graph);
  NodeId x = b.input("x", ElementType::f32, {rows, columns}).value();
  (void)graph.output(ops::softmax(b, x).value(), "y");
  return graph;
}

Graph layer_norm_residual(std::int64_t rows, std::int64_t width) {
  Graph graph;
  GraphBuilder b(graph);
  NodeId x = b.input("x", ElementType::f32, {rows, width}).value();
  NodeId residual = b.input("residual", ElementType::f32, {rows, width}).value();
  NodeId sum = b.binary(Primitive::add, x, residual).value();
  (void)graph.output(normalized(b, sum, width, 11), "y");
  return graph;
}

Graph linear_gelu_residual(std::int64_t rows, std::int64_t in, std::int64_t out) {
  Graph graph;
  GraphBuilder b(graph);
  NodeId x = b.input("x", ElementType::f32, {rows, in}).value();
  NodeId residual = b.input("residual", ElementType::f32, {rows, out}).value();
  NodeId active = ops::gelu(b, projection(b, x, in, out, 21)).value();
  (void)graph.output(b.binary(Primitive::add, active, residual).value(), "y");
  return graph;
}

Graph scaled_operand(std::int64_t rows, std::int64_t inner, std::int64_t columns) {
  Graph graph;
  GraphBuilder b(graph);
  NodeId x = b.input("x", ElementType::i32, {rows, inner}).value();
  NodeId w = b.input("w", ElementType::f32, {inner, columns}).value();
  NodeId scaled = b.binary(Primitive::mul, b.cast(x, ElementType::f32).value(), 0.125).value();
  (void)graph.output(b.matmul(scaled, w).value(), "y");
  return graph;
}

Graph attention(std::int64_t batch, std::int64_t tokens, std::int64_t heads, std::int64_t width) {
  Graph graph;
  GraphBuilder b(graph);
  Shape shape{batch, tokens, width};
  NodeId q = b.input("q", ElementType::f32, shape).value();
  NodeId k = b.input("k", ElementType::f32, shape).value();
  NodeId v = b.input("v", ElementType::f32, shape).value();
  NodeId mask = b.input("mask", ElementType::f32, {batch, 1, 1, tokens}).value();
  (void)graph.output(attended(b, q, k, v, mask, heads), "y");
  return graph;
}

Graph embedding_layer_norm(std::int64_t tokens, std::int64_t vocabulary, std::int64_t width) {
  Graph graph;
  GraphBuilder b(graph);
  NodeId words = b.input("input_ids", ElementType::i64, {2, tokens}).value();
  NodeId kinds = b.input("token_type_ids", ElementType::i64, {2, tokens}).value();
  NodeId word = b.take(weight(b, {vocabulary, width}, 31), words, 0).value();
  NodeId kind = b.take(weight(b, {2, width}, 32), kinds, 0).value();
  NodeId position = weight(b, {tokens, width}, 33);
  NodeId sum = b.binary(Primitive::add, b.binary(Primitive::add, word, kind).value(), position).value();
  (void)graph.output(normalized(b, sum, width, 34), "y");
  return graph;
}

Graph encoder_layer(std::int64_t batch, std::int64_t tokens, std::int64_t heads, std::int64_t width) {
  Graph graph;
  GraphBuilder b(graph);
  NodeId x = b.input("x", ElementType::f32, {batch, tokens, width}).value();
  NodeId mask = additive_mask(b, batch, tokens);
  NodeId k = projection(b, x, width, width, 41);
  NodeId v = projection(b, x, width, width, 43);
  NodeId q = projection(b, x, width, width, 45);
  NodeId context = projection(b, attended(b, q, k, v, mask, heads), width, width, 47);
  NodeId first = normalized(b, b.binary(Primitive::add, context, x).value(), width, 49);
  NodeId inner = ops::gelu(b, projection(b, first, width, 4 * width, 51)).value();
  NodeId outer = projection(b, inner, 4 * width, width, 53);
  (void)graph.output(normalized(b, b.binary(Primitive::add, outer, first).value(), width, 55), "y");
  return graph;
}

Graph random_graph(std::uint32_t seed, int nodes) {
  Graph graph;
  GraphBuilder b(graph);
  std::mt19937 random(seed);
  std::vector<NodeId> made{b.input("a", ElementType::f32, {4, 6}).value(),
                           b.input("b", ElementType::f32, {6}).value(),
                           b.input("c", ElementType::f32, {4, 1}).value()};
  const Primitive binary[] = {Primitive::add, Primitive::sub, Primitive::mul, Primitive::max};
  const Primitive unary[] = {Primitive::neg, Primitive::tanh, Primitive::abs, Primitive::relu};
  for (int i = 0; i < nodes; ++i) {
    NodeId x = made[random() % made.size()], y = made[random() % made.size()];
    Shape shape = b.shape(x);
    Result<NodeId> next = fail(ErrorCode::internal, "");
    switch (random() % 8) {
      case 0:
      case 1:
      case 2:
        next = b.binary(binary[random() % 4], x, y);
        break;
      case 3:
        next = b.unary(unary[random() % 4], x);
        break;
      case 4:
        if (shape.rank() == 2) next = b.permute(x, {1, 0});
        break;
      case 5:
        if (shape.rank() > 0 && shape.count() <= 64)
          next = b.reduce(random() % 2 ? Primitive::reduce_sum : Primitive::reduce_max, x,
                          {static_cast<std::int64_t>(random() % shape.rank())}, random() % 2 != 0);
        break;
      case 6:
        if (shape.count() == 24) {
          static const std::vector<std::int64_t> shapes[] = {{2, 12}, {4, 6}, {3, 8}, {6, 4}};
          next = b.reshape(x, shapes[random() % 4]);
        }
        break;
      default:
        if (shape.rank() > 0 && shape[0] > 2) next = b.slice_axis(x, 0, 1, shape[0], 1 + random() % 2);
    }
    if (next && b.shape(*next).count() <= 4096) made.push_back(*next);
  }
  (void)graph.output(made.back(), "last");
  (void)graph.output(made[made.size() / 2], "middle");
  return graph;
}

namespace {

/// A graph of one or two f32 inputs and the one output that `make` builds from them.
Graph of_inputs(const Shape& first, const std::optional<Shape>& second,
                const std::function<Result<NodeId>(GraphBuilder&, NodeId, NodeId)>& make) {
  Graph graph;
  GraphBuilder b(graph);
  NodeId x = b.input("x", ElementType::f32, first).value();
  NodeId y = second ? b.input("y", ElementType::f32, *second).value() : x;
  (void)graph.output(make(b, x, y).value(), "out");
  return graph;
}

Sample reduced_over_nothing(Primitive primitive) {
  return {"over an empty axis: " + std::string(ops::row(primitive).name), [primitive] {
            return of_inputs({3, 0}, std::nullopt, [&](GraphBuilder& b, NodeId x, NodeId) -> Result<NodeId> {
              HALYARD_ASSIGN(NodeId value, b.reduce(primitive, x, {1}));
              return b.binary(Primitive::mul, value, 2.0);
            });
          }};
}

}  // namespace

const std::vector<Sample>& with_empty_tensors() {
  static const std::vector<Sample> samples{
      {"softmax of no rows", [] { return softmax(0, 7); }},
      {"encoder layer of no sentence", [] { return encoder_layer(0, 15); }},
      {"encoder layer of no token", [] { return encoder_layer(2, 0); }},
      {"product over an empty axis, plus 1",
       [] {
         return of_inputs({3, 0}, Shape{0, 2}, [](GraphBuilder& b, NodeId x, NodeId y) -> Result<NodeId> {
           HALYARD_ASSIGN(NodeId product, b.matmul(x, y));
           return b.binary(Primitive::add, product, 1.0);
         });
       }},
      {"product without columns",
       [] {
         return of_inputs({2, 3, 4}, Shape{4, 0},
                          [](GraphBuilder& b, NodeId x, NodeId y) { return b.matmul(x, y); });
       }},
      {"product without batches",
       [] {
         return of_inputs({0, 3, 4}, Shape{4, 5},
                          [](GraphBuilder& b, NodeId x, NodeId y) { return b.matmul(x, y); });
       }},
      reduced_over_nothing(Primitive::reduce_sum),
      reduced_over_nothing(Primitive::reduce_prod),
      reduced_over_nothing(Primitive::reduce_min),
      reduced_over_nothing(Primitive::reduce_max),
      {"concatenation with empty parts",
       [] {
         return of_inputs({0, 4}, Shape{2, 4}, [](GraphBuilder& b, NodeId x, NodeId y) {
           const NodeId parts[] = {x, y, x, y};
           return b.concat(parts, 0);
         });
       }},
      {"padding of nothing",
       [] {
         return of_inputs({0, 4}, std::nullopt,
                          [](GraphBuilder& b, NodeId x, NodeId) { return b.pad(x, {2, 0}, {1, 1}, 7); });
       }},
      {"no index taken",
       [] {
         return of_inputs({5, 4}, Shape{0}, [](GraphBuilder& b, NodeId x, NodeId y) -> Result<NodeId> {
           HALYARD_ASSIGN(NodeId indices, b.cast(y, ElementType::i64));
           return b.take(x, indices, 0);
         });
       }},
      {"sums along nothing",
       [] {
         return of_inputs({0, 5}, std::nullopt,
                          [](GraphBuilder& b, NodeId x, NodeId) { return b.cumulative_sum(x, 1); });
       }},
  };
  return samples;
}

const std::vector<Sample>& all() {
  static const std::vector<Sample> samples{
      {"elementwise chain", [] { return elementwise_chain(); }, 1},
      {"softmax", [] { return softmax(); }, 1},
      {"layer norm with residual", [] { return layer_norm_residual(); }, 1},
      {"linear, gelu, residual", [] { return linear_gelu_residual(); }, 1},
      {"scaled operand", [] { return scaled_operand(); }, 1},
      {"attention", [] { return attention(); }, 1},
      {"embedding and layer norm", [] { return embedding_layer_norm(); }, 1},
      {"convolution, bias, relu",
       [] {
         return of_inputs(
             {2, 4, 9, 8}, Shape{6, 4, 3, 3}, [](GraphBuilder& b, NodeId x, NodeId y) -> Result<NodeId> {
               const HostTensor bias = random_tensor(ElementType::f32, Shape{6, 1, 1}, 3);
               HALYARD_ASSIGN(
                   NodeId made,
                   ops::convolution(b, x, y,
                                    {.strides = {1, 2}, .dilations = {}, .before = {1, 1}, .after = {1, 1}}));
               HALYARD_ASSIGN(made, b.binary(Primitive::add, made, b.constant(bias)));
               return b.unary(Primitive::relu, made);
             });
       }},
      // More terms than a chunk of a product has, in runs of as many channels.
      {"convolution with weights, residual",
       [] {
         return of_inputs(
             {2, 64, 6, 5}, Shape{2, 40, 6, 5},
             [](GraphBuilder& b, NodeId x, NodeId residual) -> Result<NodeId> {
               const NodeId weights = weight(b, {40, 64, 3, 3}, 5);
               HALYARD_ASSIGN(
                   NodeId made,
                   ops::convolution(b, x, weights,
                                    {.strides = {}, .dilations = {}, .before = {1, 1}, .after = {1, 1}}));
               return b.binary(Primitive::add, made, residual);
             });
       }},
      {"matrix times vector, scaled",
       [] {
         return of_inputs({70, 1100}, Shape{1100, 1},
                          [](GraphBuilder& b, NodeId x, NodeId y) -> Result<NodeId> {
                            HALYARD_ASSIGN(NodeId made, b.matmul(x, y));
                            return b.binary(Primitive::mul, made, 0.5);
                          });
       },
       1},
      {"pooling of a computed tensor",
       [] {
         return of_inputs(
             {2, 3, 9, 8}, std::nullopt, [](GraphBuilder& b, NodeId x, NodeId) -> Result<NodeId> {
               HALYARD_ASSIGN(NodeId raised, b.unary(Primitive::exp, x));
               return ops::max_pool(b, raised, {3, 2},
                                    {.strides = {2, 1}, .dilations = {}, .before = {1, 0}, .after = {1, 1}});
             });
       }},
      {"grouped causal attention",
       [] {
         return of_inputs({2, 6, 7, 8}, Shape{2, 2, 9, 8}, [](GraphBuilder& b, NodeId x, NodeId y) {
           return ops::attention(b, x, y, y, {.mask = std::nullopt, .scale = std::nullopt, .causal = true});
         });
       }},
      {"the rows of the greatest sums, sorted",
       [] {
         return of_inputs({20, 6}, std::nullopt, [](GraphBuilder& b, NodeId x, NodeId) -> Result<NodeId> {
           HALYARD_ASSIGN(NodeId sums, b.reduce(Primitive::reduce_sum, x, {1}));
           HALYARD_ASSIGN(ops::TopK top, ops::top_k(b, sums, 5, 0));
           HALYARD_ASSIGN(NodeId rows, b.take(x, top.indices, 0));
           return b.scatter(Primitive::scatter_add, x, top.indices, rows, 0);
         });
       }},
      {"encoder layer", [] { return encoder_layer(); }},
      {"fma and its neighbours",
       [] {
         return of_inputs({40, 30}, Shape{40, 30}, [](GraphBuilder& b, NodeId x, NodeId y) -> Result<NodeId> {
           const NodeId operands[] = {x, y, x};
           HALYARD_ASSIGN(NodeId joined, b.elementwise(Primitive::fma, operands));
           HALYARD_ASSIGN(NodeId product, b.binary(Primitive::mul, x, y));
           HALYARD_ASSIGN(NodeId sum, b.binary(Primitive::add, product, x));
           return b.binary(Primitive::sub, joined, sum);
         });
       }},
      {"reshape of an input whose factors interleave",
       [] {
         return of_inputs({6, 4}, std::nullopt, [](GraphBuilder& b, NodeId x, NodeId) -> Result<NodeId> {
           HALYARD_ASSIGN(NodeId turned, b.reshape(x, {8, 3}));
           HALYARD_ASSIGN(NodeId raised, b.unary(Primitive::exp, turned));
           return b.binary(Primitive::add, raised, 1.0);
         });
       }},
      {"reshape of a computed tensor whose factors interleave, then row sums",
       [] {
         return of_inputs({2, 3, 4}, Shape{4}, [](GraphBuilder& b, NodeId x, NodeId y) -> Result<NodeId> {
           HALYARD_ASSIGN(NodeId sum, b.binary(Primitive::add, x, y));
           HALYARD_ASSIGN(NodeId turned, b.reshape(sum, {2, 4, 3}));
           return b.reduce(Primitive::reduce_sum, turned, {2});
         });
       }},
      {"reshape of a transposed tensor, then a product",
       [] {
         return of_inputs({4, 6}, Shape{3, 5}, [](GraphBuilder& b, NodeId x, NodeId y) -> Result<NodeId> {
           HALYARD_ASSIGN(NodeId turned, b.permute(x, {1, 0}));
           HALYARD_ASSIGN(turned, b.reshape(turned, {8, 3}));
           HALYARD_ASSIGN(NodeId product, b.matmul(turned, y));
           return b.unary(Primitive::exp, product);
         });
       }},
      {"product of operands that repeat along a batch and along rows",
       [] {
         return of_inputs({5, 7}, Shape{7, 4}, [](GraphBuilder& b, NodeId x, NodeId y) -> Result<NodeId> {
           HALYARD_ASSIGN(NodeId lhs, b.broadcast(x, {3, 5, 7}));
           HALYARD_ASSIGN(NodeId rhs, b.broadcast(y, {3, 7, 4}));
           HALYARD_ASSIGN(NodeId batched, b.matmul(lhs, rhs));
           HALYARD_ASSIGN(NodeId first, b.slice_axis(x, 0, 0, 1));
           HALYARD_ASSIGN(NodeId rows, b.broadcast(first, {5, 7}));
           HALYARD_ASSIGN(NodeId repeated, b.matmul(rows, y));
           HALYARD_ASSIGN(NodeId sum, b.binary(Primitive::add, batched, repeated));
           return b.unary(Primitive::exp, sum);
         });
       }},
      {"reshape of row sums, softmax",
       [] {
         return of_inputs({10, 6, 7}, std::nullopt, [](GraphBuilder& b, NodeId x, NodeId) -> Result<NodeId> {
           HALYARD_ASSIGN(NodeId sums, b.reduce(Primitive::reduce_sum, x, {2}));
           HALYARD_ASSIGN(NodeId turned, b.reshape(sums, {4, 15}));
           return ops::softmax(b, turned);
         });
       }},
  };
  return samples;
}

}  // namespace halyard::fusion::samples
