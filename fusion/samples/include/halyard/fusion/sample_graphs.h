#pragma once

#include <halyard/ops/compositions.h>
#include <halyard/ops/graph_builder.h>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// Graphs that several tests share. Each function fails the test (through `Result::value`) if a graph cannot
/// be built.
namespace halyard::fusion::samples {

ops::Graph elementwise_chain(std::int64_t rows = 24, std::int64_t columns = 40);
ops::Graph softmax(std::int64_t rows = 6, std::int64_t columns = 50);
/// layer_norm(x + residual) * scale + bias, written in primitives.
ops::Graph layer_norm_residual(std::int64_t rows = 8, std::int64_t width = 96);
/// gelu(x w + bias) + residual, w constant.
ops::Graph linear_gelu_residual(std::int64_t rows = 40, std::int64_t in = 48, std::int64_t out = 64);
/// The product's left operand is cast and scaled first.
ops::Graph scaled_operand(std::int64_t rows = 16, std::int64_t inner = 32, std::int64_t columns = 24);
/// Heads split off, attention with a mask, heads merged, as exporters write it: q, k, v of [batch, tokens,
/// width].
ops::Graph attention(std::int64_t batch = 2, std::int64_t tokens = 15, std::int64_t heads = 3,
                     std::int64_t width = 96);
/// Two gathers, a sum and a layer norm.
ops::Graph embedding_layer_norm(std::int64_t tokens = 15, std::int64_t vocabulary = 64,
                                std::int64_t width = 96);
/// One encoder layer over [batch, tokens, width] with constant weights.
ops::Graph encoder_layer(std::int64_t batch = 2, std::int64_t tokens = 15, std::int64_t heads = 3,
                         std::int64_t width = 96);

/// A graph of random elementwise, movement and reduction nodes over small tensors; `seed` decides all of it.
ops::Graph random_graph(std::uint32_t seed, int nodes = 24);

struct Sample {
  std::string name;
  std::function<ops::Graph()> make;
  /// In how many launches it must run fused; 0: no claim is made.
  std::size_t launches = 0;
};
/// All of the fixed ones above.
const std::vector<Sample>& all();
/// Operations on tensors without elements, and sums over nothing.
const std::vector<Sample>& with_empty_tensors();

/// Values for every input of a graph: floats in [-2, 2), integers small and non-negative, booleans mixed.
std::vector<ops::HostTensor> random_inputs(const ops::Graph& graph, std::uint32_t seed = 1);
ops::HostTensor random_tensor(ElementType element, const ops::Shape& shape, std::uint32_t seed);

}  // namespace halyard::fusion::samples
