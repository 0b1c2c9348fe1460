#include "graph_key.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

namespace halyard::fusion {

std::string attribute_text(const ops::Attributes& a) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}{}{}|{}{}{}{}", a.axes, a.shape, a.starts, a.ends, a.steps,
                     a.dilations, a.element ? static_cast<int>(*a.element) : -1, a.value_bits, a.keep_dims,
                     a.exclusive, a.descending, a.dot.lhs_batch, a.dot.rhs_batch, a.dot.lhs_contracting,
                     a.dot.rhs_contracting);
}

std::string graph_key(const ops::Graph& graph) {
  std::string text;
  for (const ops::Node& node : graph.nodes()) {
    text += fmt::format("{} {} {} {}", static_cast<int>(node.primitive), static_cast<int>(node.element),
                        node.shape.text(), attribute_text(node.attributes));
    for (ops::NodeId operand : node.operands) text += fmt::format(" %{}", ops::index(operand));
    if (node.value) {
      XXH128_hash_t hash = XXH3_128bits(node.value->data(), node.value->byte_count());
      text += fmt::format(" {:x}{:x}", hash.high64, hash.low64);
    }
    text += '\n';
  }
  for (const ops::GraphOutput& output : graph.outputs())
    text += fmt::format("-> %{}\n", ops::index(output.node));
  XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace halyard::fusion
