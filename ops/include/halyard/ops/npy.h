#pragma once

#include <halyard/ops/host_tensor.h>
#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

/// NumPy's `.npy` files, format versions 1.0 to 3.0 (numpy.lib.format). bf16, which NumPy lacks, is written
/// as raw 2-byte voids ('|V2') and read back from them.
namespace halyard::ops {

/// Any of our element types; Fortran order and big-endian data are converted. A damaged or hostile file is
/// `corrupt_data`, a type we lack `unsupported`; nothing is allocated beyond the size of the file.
Result<HostTensor> read_npy(const std::filesystem::path& path);
Result<HostTensor> parse_npy(std::span<const std::byte> bytes);

/// Version 1.0, little-endian, C order. Written to a temporary file beside the target and renamed.
Status write_npy(const std::filesystem::path& path, const HostTensor& tensor);
std::vector<std::byte> format_npy(const HostTensor& tensor);

}  // namespace halyard::ops
