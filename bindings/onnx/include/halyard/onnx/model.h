#pragma once

#include <halyard/base/result.h>
#include <halyard/ops/graph.h>
#include <halyard/ops/host_tensor.h>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::onnx {

/// An input or output as the file declares it. A dimension is a size, or −1 with the symbol in `symbols`.
struct ValueInfo {
  std::string name;
  ElementType element = ElementType::f32;
  std::vector<std::int64_t> dimensions;
  std::vector<std::string> symbols;  ///< parallel to `dimensions`; empty where the size is fixed
  std::string text() const;          ///< "input_ids: i64[batch, sequence]"
};

/// What `Model::graph` needs to know beside the file: the concrete shape of every input.
using InputShapes = std::map<std::string, ops::Shape>;
/// Values that inputs always have: such an input becomes a constant and is no input of the graph.
using FixedInputs = std::map<std::string, ops::HostTensor>;

/// An ONNX file, read and checked: weights decoded and every operator known. Immutable after loading, so safe
/// from any thread; copies share the weights, and so do all graphs built from it.
class Model {
 public:
  struct Contents;  ///< private to the reader

  /// Reads a file. `io_error` if it cannot be read, `corrupt_data` if it is no well-formed model,
  /// `unsupported` naming every operator that the reader lacks, with its node and version. External data is
  /// read from the file's folder.
  static Result<Model> load(const std::filesystem::path& path);
  /// The same from memory; external data is refused.
  static Result<Model> parse(std::span<const std::byte> bytes);

  const std::vector<ValueInfo>& inputs() const;  ///< run-time inputs: those without an initializer
  const std::vector<ValueInfo>& outputs() const;
  std::string description() const;  ///< producer, opset, node count
  std::int64_t opset() const;

  /// The computation for these input shapes. Shape arithmetic and everything else that depends on constants
  /// alone is folded away. `invalid_argument` names an input that is missing, unknown, or contradicts the
  /// declared sizes; an error inside names the node. What an operator needs while the graph is built (a
  /// shape, a number of repeats) and the file leaves to an input must be in `fixed`, which names no input of
  /// `shapes`.
  Result<ops::Graph> graph(const InputShapes& shapes, const FixedInputs& fixed = {}) const;

 private:
  friend struct ModelReader;
  std::shared_ptr<const Contents> contents_;
};

/// The operators that are read (of ai.onnx and of ai.onnx.preview.training), in alphabetical order.
std::vector<std::string_view> operator_names();

}  // namespace halyard::onnx
