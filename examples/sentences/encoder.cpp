#include "encoder.h"

#include <halyard/ops/compositions.h>

#include <algorithm>

using namespace halyard;

Result<Encoder> Encoder::load(const std::filesystem::path& folder) {
  HALYARD_ASSIGN(onnx::Model model, onnx::Model::load(folder / "model.onnx"));
  HALYARD_ASSIGN(WordPiece tokenizer, WordPiece::load(folder / "vocab.txt"));
  return Encoder(std::move(model), std::move(tokenizer));
}

Result<std::vector<ops::HostTensor>> Encoder::tokenize(const std::vector<std::string>& sentences) const {
  std::vector<std::vector<std::int64_t>> encoded;
  std::size_t longest = 0;
  for (const std::string& sentence : sentences) {
    encoded.push_back(tokenizer_.encode(sentence));
    longest = std::max(longest, encoded.back().size());
  }
  std::vector<std::int64_t> ids, mask;
  for (const auto& numbers : encoded)
    for (std::size_t i = 0; i < longest; ++i) {
      ids.push_back(i < numbers.size() ? numbers[i] : 0);
      mask.push_back(i < numbers.size());
    }
  const ops::Shape shape{static_cast<std::int64_t>(sentences.size()), static_cast<std::int64_t>(longest)};
  std::vector<ops::HostTensor> inputs;
  for (const onnx::ValueInfo& info : model_.inputs()) {
    const bool is_ids =
        info.name.find("ids") != std::string::npos && info.name.find("type") == std::string::npos;
    const bool is_mask = info.name.find("mask") != std::string::npos;
    std::vector<std::int64_t> zeros(ids.size(), 0);
    HALYARD_ASSIGN(ops::HostTensor tensor,
                   ops::HostTensor::from_values<std::int64_t>(shape, is_ids    ? ids
                                                                     : is_mask ? mask
                                                                               : zeros));
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

Result<ops::Graph> Encoder::graph(const std::vector<ops::HostTensor>& inputs) const {
  onnx::InputShapes shapes;
  std::size_t mask = inputs.size();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = model_.inputs()[i].name;
    shapes[name] = inputs[i].shape();
    if (name.find("mask") != std::string::npos) mask = i;
  }
  if (mask == inputs.size())
    return fail(ErrorCode::unsupported, "the model has no input with 'mask' in its name");
  HALYARD_ASSIGN(ops::Graph whole, model_.graph(shapes));
  ops::GraphBuilder builder(whole);
  HALYARD_ASSIGN(ops::NodeId pooled,
                 ops::masked_mean(builder, whole.outputs()[0].node, whole.inputs()[mask]));
  HALYARD_ASSIGN(ops::NodeId unit, ops::l2_normalize(builder, pooled));
  HALYARD_TRY(whole.output(unit, "sentence_embedding"));
  return whole;
}

Result<Trial> Trial::start(fusion::Compiler& compiler, const ops::Graph& graph,
                           std::vector<ops::HostTensor> inputs, const fusion::CompileOptions& options) {
  Trial trial;
  trial.inputs_ = std::move(inputs);
  HALYARD_ASSIGN(trial.executable_, compiler.compile(graph, options));
  HALYARD_ASSIGN(std::vector<ops::HostTensor> outputs, trial.executable_->run(trial.inputs_));
  trial.embeddings_ = std::move(outputs.back());
  trial.timings_.total = std::numeric_limits<double>::infinity();
  return trial;
}

Status Trial::time_once() {
  HALYARD_ASSIGN(fusion::Executable::Timings now, executable_->measure(inputs_, 1));
  timings_.total = std::min(timings_.total, now.total);
  if (timings_.steps.empty()) timings_.steps = now.steps;
  for (std::size_t i = 0; i < now.steps.size(); ++i)
    timings_.steps[i] = std::min(timings_.steps[i], now.steps[i]);
  return {};
}

Measured Trial::measured() const {
  const fusion::Explanation explanation = fusion::explain(*executable_, &timings_);
  Measured measured{.embeddings = embeddings_,
                    .launches = executable_->steps().size(),
                    .bytes = explanation.bytes,
                    .seconds = timings_.total,
                    .kernels = executable_->counters()};
  for (const fusion::ClusterExplanation& cluster : explanation.clusters)
    if (cluster.measured_seconds) measured.seconds_by_kind[cluster.kind] += *cluster.measured_seconds;
  return measured;
}
