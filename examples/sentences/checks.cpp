#include "checks.h"

#include <fmt/format.h>

#include <cstring>
#include <set>
#include <utility>

using namespace halyard;

namespace {

Result<ops::HostTensor> encode(const Encoder& encoder, fusion::Compiler& compiler,
                               const std::vector<ops::HostTensor>& inputs) {
  HALYARD_ASSIGN(ops::Graph graph, encoder.graph(inputs));
  HALYARD_ASSIGN(auto executable, compiler.compile(graph));
  HALYARD_ASSIGN(std::vector<ops::HostTensor> outputs, executable->run(inputs));
  return outputs.back();
}

/// Rows [0, 1) of each input: the first sentence alone, padded as in its batch.
Result<std::vector<ops::HostTensor>> first_alone(const std::vector<ops::HostTensor>& inputs) {
  std::vector<ops::HostTensor> alone;
  for (const ops::HostTensor& input : inputs) {
    const auto row = input.values<std::int64_t>().first(static_cast<std::size_t>(input.shape()[1]));
    HALYARD_ASSIGN(ops::HostTensor copy,
                   ops::HostTensor::from_values<std::int64_t>({1, input.shape()[1]}, row));
    alone.push_back(std::move(copy));
  }
  return alone;
}

/// Inputs of one made-up text of `length` tokens.
Result<std::vector<ops::HostTensor>> inputs_of_length(const Encoder& encoder, std::int64_t length) {
  std::string text;
  for (std::int64_t i = 2; i < length; ++i) text += "word ";  // [CLS] and [SEP] are the other two
  return encoder.tokenize({text});
}

/// What the shape class of a length is made of (fusion/include/halyard/fusion/lower.h): up to 32 the length
/// itself, beyond it the power of two above, and which vector widths divide it.
std::pair<std::int64_t, std::int64_t> shape_class(std::int64_t length) {
  if (length <= 32) return {length, 0};
  std::int64_t bucket = 64;
  while (bucket < length) bucket *= 2;
  const std::int64_t divisor = length & -length;
  return {bucket, divisor < 32 ? divisor : 32};
}

}  // namespace

Result<bool> check_batch_invariance(const Encoder& encoder, fusion::Compiler& compiler,
                                    const std::vector<std::string>& sentences) {
  std::vector<std::string> batch;
  for (std::size_t i = 0; i < 32; ++i) batch.push_back(sentences[i % sentences.size()]);
  HALYARD_ASSIGN(std::vector<ops::HostTensor> together, encoder.tokenize(batch));
  HALYARD_ASSIGN(std::vector<ops::HostTensor> alone, first_alone(together));
  HALYARD_ASSIGN(ops::HostTensor of_batch, encode(encoder, compiler, together));
  HALYARD_ASSIGN(ops::HostTensor of_one, encode(encoder, compiler, alone));
  const bool equal = std::memcmp(of_batch.data(), of_one.data(), of_one.byte_count()) == 0;
  fmt::print("  a sentence alone and in a batch of 32, padded alike: {}\n",
             equal ? "same bits" : "BITS DIFFER");
  return equal;
}

Result<bool> check_kernels_over_lengths(const Encoder& encoder, fusion::Compiler& compiler) {
  const std::uint32_t before = compiler.counters().kernels;
  std::set<std::pair<std::int64_t, std::int64_t>> classes;
  std::size_t launches = 0;
  std::size_t kernels_of_one = 0;
  for (std::int64_t i = 0; i < 20; ++i) {
    const std::int64_t length = 11 + 6 * i;
    classes.insert(shape_class(length));
    HALYARD_ASSIGN(std::vector<ops::HostTensor> inputs, inputs_of_length(encoder, length));
    HALYARD_ASSIGN(ops::Graph graph, encoder.graph(inputs));
    HALYARD_ASSIGN(auto executable, compiler.compile(graph));
    HALYARD_TRY(executable->run(inputs));
    launches += executable->steps().size();
    kernels_of_one = std::max<std::size_t>(kernels_of_one, executable->counters().kernels);
  }
  const std::uint32_t kernels = compiler.counters().kernels - before;
  const std::size_t most = classes.size() * kernels_of_one;
  fmt::print(
      "  20 lengths from 11 to 125 tokens, {} shape classes: {} launches share {} kernels (at most {} x {} = "
      "{})\n",
      classes.size(), launches, kernels, classes.size(), kernels_of_one, most);
  return kernels <= most;
}
