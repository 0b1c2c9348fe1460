#pragma once

#include <halyard/fusion/executable.h>
#include <halyard/fusion/explanation.h>
#include <halyard/onnx/model.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "word_piece.h"

/// A sentence encoder: an ONNX transformer, masked mean over its tokens, unit length.
class Encoder {
 public:
  static halyard::Result<Encoder> load(const std::filesystem::path& folder);

  const halyard::onnx::Model& model() const { return model_; }
  /// ids, mask and types of the sentences, padded to the longest, in the order of the model's inputs.
  halyard::Result<std::vector<halyard::ops::HostTensor>> tokenize(
      const std::vector<std::string>& sentences) const;
  /// The whole computation for these inputs; its one output is [sentences, width].
  halyard::Result<halyard::ops::Graph> graph(const std::vector<halyard::ops::HostTensor>& inputs) const;

 private:
  Encoder(halyard::onnx::Model model, WordPiece tokenizer)
      : model_(std::move(model)), tokenizer_(std::move(tokenizer)) {}
  halyard::onnx::Model model_;
  WordPiece tokenizer_;
};

/// What one device made of the encoder, fused or not.
struct Measured {
  halyard::ops::HostTensor embeddings;
  std::size_t launches = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
  std::map<std::string, double> seconds_by_kind;  ///< empty where the device has no time stamps
  halyard::fusion::CompileCounters kernels;
};

/// One graph compiled for one device, and what its runs showed so far.
class Trial {
 public:
  /// Compiles, and runs once.
  static halyard::Result<Trial> start(halyard::fusion::Compiler& compiler, const halyard::ops::Graph& graph,
                                      std::vector<halyard::ops::HostTensor> inputs,
                                      const halyard::fusion::CompileOptions& options);
  /// One more run, timed; the shortest times are kept.
  halyard::Status time_once();
  Measured measured() const;

 private:
  Trial() = default;
  std::vector<halyard::ops::HostTensor> inputs_;
  std::shared_ptr<halyard::fusion::Executable> executable_;
  halyard::ops::HostTensor embeddings_;
  halyard::fusion::Executable::Timings timings_;
};
