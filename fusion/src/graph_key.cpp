#include "graph_key.h"

#include <xxhash.h>
#include <cstring>
#include <span>

/// Every evaluation of a tensor makes a key, so it is made of plain bytes: formatting them as text took as
/// long as all the rest.
namespace halyard::fusion {
namespace {

void append(std::string& key, std::uint64_t number) {
  char bytes[sizeof(number)];
  std::memcpy(bytes, &number, sizeof(number));
  key.append(bytes, sizeof(bytes));
}

/// With their count first, so that no two sequences of lists look alike.
void append(std::string& key, std::span<const std::int64_t> numbers) {
  append(key, numbers.size());
  key.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
}

void append(std::string& key, const XXH128_hash_t& hash) {
  append(key, hash.high64);
  append(key, hash.low64);
}

}  // namespace

void append_attributes(std::string& key, const ops::Attributes& a) {
  for (const auto* list : {&a.axes, &a.shape, &a.starts, &a.ends, &a.steps, &a.dilations, &a.dot.lhs_batch,
                           &a.dot.rhs_batch, &a.dot.lhs_contracting, &a.dot.rhs_contracting})
    append(key, *list);
  append(key, a.element ? static_cast<std::uint64_t>(*a.element) : ~std::uint64_t{0});
  append(key, a.value_bits);
  append(key,
         std::uint64_t{a.keep_dims} | std::uint64_t{a.exclusive} << 1 | std::uint64_t{a.descending} << 2);
}

std::string graph_key(const ops::Graph& graph) {
  std::string key;
  for (const ops::Node& node : graph.nodes()) {
    append(key, static_cast<std::uint64_t>(node.primitive));
    append(key, static_cast<std::uint64_t>(node.element));
    append(key, node.shape.extents());
    append_attributes(key, node.attributes);
    append(key, node.operands.size());
    for (ops::NodeId operand : node.operands) append(key, ops::index(operand));
    append(key, std::uint64_t{node.value != nullptr});
    if (node.value) append(key, XXH3_128bits(node.value->data(), node.value->byte_count()));
  }
  for (const ops::GraphOutput& output : graph.outputs()) append(key, ops::index(output.node));
  const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
  key.clear();
  append(key, hash);
  return key;
}

}  // namespace halyard::fusion
