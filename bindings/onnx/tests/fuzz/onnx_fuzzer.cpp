// Feeds arbitrary bytes to the reader and, when they are a model, builds it with small extents for open
// dimensions, and with small values for lists of integers, which may decide shapes.
#include <halyard/onnx/model.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto model = halyard::onnx::Model::parse(std::as_bytes(std::span(data, size)));
  if (!model) return 0;
  halyard::onnx::InputShapes shapes;
  halyard::onnx::FixedInputs values;
  for (const auto& input : model->inputs()) {
    std::vector<std::int64_t> extents;
    for (std::int64_t extent : input.dimensions) extents.push_back(extent < 0 ? 2 : extent % 64);
    const halyard::ops::Shape shape(extents);
    shapes[input.name] = shape;
    if (!halyard::is_integer(input.element) || shape.rank() > 1) continue;
    auto list = halyard::ops::HostTensor::allocate(input.element, shape);
    for (std::int64_t i = 0; i < list->count(); ++i) list->set_bits_at(i, static_cast<std::uint64_t>(i + 1));
    values.emplace(input.name, std::move(*list));
  }
  (void)model->graph(shapes);
  for (const auto& [name, value] : values) shapes.erase(name);
  (void)model->graph(shapes, values);
  return 0;
}
