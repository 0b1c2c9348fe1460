// Feeds arbitrary bytes to the reader and, when they are a model, builds it with small extents for open
// dimensions.
#include <halyard/onnx/model.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto model = halyard::onnx::Model::parse(std::as_bytes(std::span(data, size)));
  if (!model) return 0;
  halyard::onnx::InputShapes shapes;
  for (const auto& input : model->inputs()) {
    std::vector<std::int64_t> extents;
    for (std::int64_t extent : input.dimensions) extents.push_back(extent < 0 ? 2 : extent % 64);
    shapes[input.name] = halyard::ops::Shape(extents);
  }
  (void)model->graph(shapes);
  return 0;
}
