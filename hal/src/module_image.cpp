#include <elf.h>
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "backend_module.h"

namespace halyard::hal {
namespace {

#if defined(__x86_64__)
constexpr std::uint16_t this_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t this_machine = EM_AARCH64;
#else
constexpr std::uint16_t this_machine = EM_NONE;
#endif
constexpr unsigned char this_byte_order =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

template <class T>
bool read(std::span<const std::byte> file, std::uint64_t offset, T& value) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return false;
  std::memcpy(&value, file.data() + offset, sizeof(T));
  return true;
}

}  // namespace

Status check_module_image(std::span<const std::byte> file, const std::string& subject) {
  const auto damaged = [&](std::string_view what) {
    return fail(ErrorCode::corrupt_data, fmt::format("{}: not a loadable module: {}", subject, what));
  };
  Elf64_Ehdr header;
  if (!read(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return damaged("no ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != this_byte_order)
    return damaged("of another word size or byte order");
  if (header.e_type != ET_DYN) return damaged("no shared library");
  if (this_machine != EM_NONE && header.e_machine != this_machine) return damaged("for another machine");
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 || header.e_phnum > 1024)
    return damaged("no program headers");
  bool has_dynamic = false;
  bool has_load = false;
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (header.e_phoff > file.size() || !read(file, header.e_phoff + i * sizeof segment, segment))
      return damaged("truncated program headers");
    if (segment.p_type == PT_NULL) continue;
    if (segment.p_filesz != 0 &&
        (segment.p_offset > file.size() || segment.p_filesz > file.size() - segment.p_offset))
      return damaged("truncated: a segment lies beyond the end of the file");
    if (segment.p_type == PT_LOAD) {
      has_load = true;
      if (segment.p_memsz < segment.p_filesz)
        return damaged("a segment is larger in the file than in memory");
      if (segment.p_vaddr + segment.p_memsz < segment.p_vaddr || segment.p_memsz > (std::uint64_t{1} << 40))
        return damaged("a segment's extent is impossible");
      if (segment.p_align > 1 && !std::has_single_bit(segment.p_align))
        return damaged("a segment's alignment is impossible");
    }
    has_dynamic |= segment.p_type == PT_DYNAMIC;
  }
  if (!has_load || !has_dynamic) return damaged("nothing to load");
  return {};
}

}  // namespace halyard::hal
