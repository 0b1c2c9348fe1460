#include <fmt/format.h>
#include <halyard/fusion/explanation.h>
#include <halyard/fusion/kernel_source.h>
#include <halyard/program/serialize.h>
#include <halyard/program/text.h>
#include <fstream>
#include <set>

namespace halyard::fusion {
namespace {

Status write(const std::filesystem::path& path, const char* data, std::size_t bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(data, static_cast<std::streamsize>(bytes));
  file.close();
  if (!file) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    return fail(ErrorCode::io_error,
                fmt::format("emit: cannot write {}; check the folder's permissions and the disk's free space",
                            path.string()));
  }
  return {};
}

std::string_view extension(std::string_view format) {
  if (format == "llvm-ir") return ".ll";
  if (format == "spirv") return ".spv";
  if (format == "cuda-c++") return ".cu";
  if (format == "hip-c++") return ".hip";
  return ".hytp";
}

}  // namespace

Result<std::size_t> emit(const Executable& executable, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return fail(ErrorCode::io_error,
                fmt::format("emit: cannot make the folder {}: {}", folder.string(), error.message()));
  std::set<std::vector<std::byte>> seen;
  for (const Step& step : executable.steps()) {
    const Cluster& cluster = executable.cluster(step);
    const program::Program& program = cluster.kernel.program;
    if (!seen.insert(program::serialize(program)).second) continue;
    std::string stem = fmt::format("{:02}_{}", step.cluster, program.name);
    std::string tile = to_text(cluster.tile.program, cluster.tile.binding);
    HALYARD_TRY(write(folder / (stem + ".tile"), tile.data(), tile.size()));
    std::string thread = program::to_text(program);
    HALYARD_TRY(write(folder / (stem + ".thread"), thread.data(), thread.size()));
    const std::string& format = executable.profile().module_format;
    HALYARD_ASSIGN(KernelSource source,
                   print_kernel(program, format, executable.device()->info(), {.for_readers = true}));
    HALYARD_TRY(write(folder / (stem + std::string(extension(format))),
                      reinterpret_cast<const char*>(source.module.bytes.data()), source.module.bytes.size()));
  }
  return seen.size();
}

}  // namespace halyard::fusion
