#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <fstream>
#include <map>
#include <set>

#include "importer.h"

namespace halyard::onnx {
namespace {

// Protobuf's own readers print to stderr when a file is damaged; a library stays silent and reports.
void silence_protobuf() {
  [[maybe_unused]] static auto* handler = ::google::protobuf::SetLogHandler(
      [](::google::protobuf::LogLevel, const char*, int, const std::string&) {});
}

Result<ValueInfo> value_info(const ::onnx::ValueInfoProto& proto) {
  ValueInfo info;
  info.name = proto.name();
  if (!proto.type().has_tensor_type())
    return fail(ErrorCode::unsupported,
                fmt::format("onnx: '{}' is no tensor; sequences and maps are not read", proto.name()));
  const auto& tensor = proto.type().tensor_type();
  auto element = element_type(tensor.elem_type());
  if (!element)
    return fail(element.error().code, fmt::format("{} (of '{}')", element.error().message, proto.name()));
  info.element = *element;
  for (const auto& dimension : tensor.shape().dim()) {
    const bool fixed = dimension.has_dim_value();
    info.dimensions.push_back(fixed ? dimension.dim_value() : -1);
    info.symbols.push_back(fixed ? "" : dimension.dim_param().empty() ? "?" : dimension.dim_param());
  }
  return info;
}

void collect_missing(const ::onnx::ModelProto& proto, const ::onnx::GraphProto& graph, std::int64_t opset,
                     std::set<std::string>& missing) {
  for (int i = 0; i < graph.node_size(); ++i) {
    const ::onnx::NodeProto& node = graph.node(i);
    for (const auto& attribute : node.attribute())
      if (attribute.has_g()) collect_missing(proto, attribute.g(), opset, missing);
    const bool is_default = node.domain().empty() || node.domain() == "ai.onnx";
    if (find_operator(node.domain(), node.op_type()) && (!is_default || opset > 0)) continue;
    std::int64_t version = is_default ? opset : 0;
    for (const auto& import : proto.opset_import())
      if (!is_default && import.domain() == node.domain()) version = import.version();
    const std::string release =
        version > 0 ? fmt::format("version {}", version) : "a domain that the model does not import";
    missing.insert(fmt::format("{}.{} ({}), first needed by node {} '{}'",
                               is_default ? "ai.onnx" : node.domain(), node.op_type(), release, i,
                               node.name()));
  }
}

/// Names every operator that the reader lacks, so that a user sees the whole distance at once.
Status check_operators(const ::onnx::ModelProto& proto, std::int64_t opset) {
  std::set<std::string> missing;
  collect_missing(proto, proto.graph(), opset, missing);
  if (missing.empty()) return {};
  std::string list;
  std::set<std::string_view> named;
  for (const std::string& entry : missing)
    if (named.insert(std::string_view(entry).substr(0, entry.find(' '))).second) list += "\n  " + entry;
  return fail(ErrorCode::unsupported,
              fmt::format("onnx: the model uses operators that are not supported:{}", list));
}

/// Every value has one definition (the format is in static single assignment form), every attribute one
/// value.
Status check_definitions(const ::onnx::GraphProto& graph) {
  std::map<std::string_view, std::string> defined;
  for (const auto& input : graph.input())
    if (!defined.emplace(input.name(), "an input").second)
      return fail(ErrorCode::corrupt_data, fmt::format("onnx: two inputs are named '{}'", input.name()));
  for (const auto& initializer : graph.initializer()) defined.emplace(initializer.name(), "an initializer");
  for (int i = 0; i < graph.node_size(); ++i) {
    const ::onnx::NodeProto& node = graph.node(i);
    const std::string place = fmt::format("node {} '{}' ({})", i, node.name(), node.op_type());
    for (const std::string& output : node.output()) {
      if (output.empty()) continue;
      auto [first, is_new] = defined.emplace(output, place);
      if (!is_new)
        return fail(
            ErrorCode::corrupt_data,
            fmt::format("onnx: {} defines '{}', which is defined already: {}", place, output, first->second));
    }
    std::set<std::string_view> attributes;
    for (const auto& attribute : node.attribute())
      if (!attributes.insert(attribute.name()).second)
        return fail(ErrorCode::corrupt_data,
                    fmt::format("onnx: {} gives its attribute '{}' twice", place, attribute.name()));
  }
  return {};
}

/// 0 for a model that uses other domains alone.
Result<std::int64_t> default_opset(const ::onnx::ModelProto& proto) {
  std::int64_t opset = 0;
  bool imports_default = proto.opset_import_size() == 0;
  for (const auto& import : proto.opset_import()) {
    if (!import.domain().empty() && import.domain() != "ai.onnx") continue;
    opset = import.version();
    imports_default = true;
  }
  if (!imports_default) return 0;
  if (opset < 1 || opset > 22)
    return fail(ErrorCode::unsupported,
                fmt::format("onnx: operator set {} of the default domain is not read (1 to 22 are); "
                            "convert the model with onnx.version_converter",
                            opset));
  return opset;
}

}  // namespace

std::string ValueInfo::text() const {
  std::string list;
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    if (i) list += ", ";
    list += dimensions[i] < 0 ? symbols[i] : std::to_string(dimensions[i]);
  }
  return fmt::format("{}: {}[{}]", name, halyard::name(element), list);
}

/// Makes models: the one place that may fill `Model::contents_`.
struct ModelReader {
  static Result<Model> read(std::span<const std::byte> bytes, const std::filesystem::path& folder) {
    silence_protobuf();
    auto contents = std::make_shared<Model::Contents>();
    ::google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
    ::google::protobuf::io::CodedInputStream coded(&stream);
    constexpr int deepest = 64;
    coded.SetRecursionLimit(deepest);
    if (bytes.empty()) return fail(ErrorCode::corrupt_data, "onnx: the model is empty: 0 bytes");
    if (!contents->proto.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage())
      return fail(ErrorCode::corrupt_data, fmt::format("onnx: {} bytes are no well-formed ONNX model: the "
                                                       "file is incomplete or damaged, or nests more than "
                                                       "{} levels deep",
                                                       bytes.size(), deepest));
    if (!contents->proto.has_graph()) return fail(ErrorCode::corrupt_data, "onnx: the model holds no graph");
    HALYARD_ASSIGN(contents->opset, default_opset(contents->proto));
    HALYARD_TRY(check_operators(contents->proto, contents->opset));
    HALYARD_TRY(check_definitions(contents->proto.graph()));
    HALYARD_TRY(read_values(*contents, folder));
    Model model;
    model.contents_ = std::move(contents);
    return model;
  }

 private:
  static Status read_values(Model::Contents& contents, const std::filesystem::path& folder) {
    auto& graph = *contents.proto.mutable_graph();
    for (auto& initializer : *graph.mutable_initializer()) {
      HALYARD_ASSIGN(ops::HostTensor tensor, read_tensor(initializer, folder));
      if (!contents.initializers.emplace(initializer.name(), std::move(tensor)).second)
        return fail(ErrorCode::corrupt_data,
                    fmt::format("onnx: two initializers are named '{}'", initializer.name()));
      initializer.clear_raw_data();  // decoded: the second copy would double the memory of the weights
      initializer.clear_float_data();
    }
    if (graph.sparse_initializer_size() > 0)
      return fail(ErrorCode::unsupported, "onnx: sparse initializers are not read; store them dense");
    for (const auto& input : graph.input()) {
      if (contents.initializers.contains(input.name())) continue;
      HALYARD_ASSIGN(ValueInfo info, value_info(input));
      contents.inputs.push_back(std::move(info));
    }
    for (const auto& output : graph.output()) {
      HALYARD_ASSIGN(ValueInfo info, value_info(output));
      contents.outputs.push_back(std::move(info));
    }
    if (contents.outputs.empty()) return fail(ErrorCode::corrupt_data, "onnx: the graph has no outputs");
    return {};
  }
};

Result<Model> Model::load(const std::filesystem::path& path) {
  const auto refused = [&](const char* reason) {
    return fail(ErrorCode::io_error, fmt::format("onnx: cannot open '{}': {}", path.string(), reason));
  };
  std::error_code ignored;
  const std::filesystem::file_status kind = std::filesystem::status(path, ignored);
  if (!std::filesystem::exists(kind)) return refused("there is no such file");
  if (std::filesystem::is_directory(kind)) return refused("it is a folder; name the .onnx file in it");
  // Opening a pipe would wait for who writes to it.
  if (!std::filesystem::is_regular_file(kind)) return refused("it is no regular file");
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return refused("reading it is not permitted");
  const std::streamoff size = file.tellg();
  constexpr std::streamoff limit = (std::streamoff{1} << 31) - 1;  // of protobuf
  if (size < 0 || size > limit)
    return fail(ErrorCode::unsupported,
                fmt::format("onnx: '{}' has {} bytes; a protobuf file holds at most {}: store the "
                            "weights as external data",
                            path.string(), size, limit));
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  file.seekg(0);
  if (size > 0 && !file.read(reinterpret_cast<char*>(bytes.data()), size))
    return fail(ErrorCode::io_error, fmt::format("onnx: cannot read '{}'", path.string()));
  auto folder = path.parent_path().empty() ? std::filesystem::path(".") : path.parent_path();
  auto model = ModelReader::read(bytes, folder);
  if (!model)
    return fail(model.error().code, fmt::format("{} (file '{}')", model.error().message, path.string()));
  return model;
}

Result<Model> Model::parse(std::span<const std::byte> bytes) {
  if (bytes.size() > 0x7fffffffu)
    return fail(ErrorCode::unsupported, "onnx: more than 2 GiB in memory are not read");
  return ModelReader::read(bytes, {});
}

const std::vector<ValueInfo>& Model::inputs() const {
  return contents_->inputs;
}
const std::vector<ValueInfo>& Model::outputs() const {
  return contents_->outputs;
}
std::int64_t Model::opset() const {
  return contents_->opset;
}

std::string Model::description() const {
  const auto& proto = contents_->proto;
  return fmt::format("{} {}, opset {}, {} nodes, {} initializers",
                     proto.producer_name().empty() ? "unknown producer" : proto.producer_name(),
                     proto.producer_version(), contents_->opset, proto.graph().node_size(),
                     contents_->initializers.size());
}

Result<ops::Graph> Model::graph(const InputShapes& shapes, const FixedInputs& fixed) const {
  return Importer(*contents_).run(shapes, fixed);
}

}  // namespace halyard::onnx
