#include "object_loader.h"
#include <elf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

namespace halyard::cpu {
namespace {

constexpr std::uint64_t largest_mapping = std::uint64_t{256} << 20;
constexpr std::uint64_t largest_alignment = 4096;
constexpr std::size_t thunk_bytes = 16;  // jmp [rip + 0]; then the 8-byte address
constexpr std::uint64_t not_loaded = ~std::uint64_t{0};

struct RuntimeFunction {
  std::string_view name;
  std::uint64_t address;
};

/// All that generated code may call outside itself: LLVM turns certain loops into these.
std::uint64_t runtime_function(std::string_view name) {
  static const RuntimeFunction functions[] = {
      {"memcpy", reinterpret_cast<std::uint64_t>(
                     static_cast<void* (*)(void*, const void*, std::size_t)>(&std::memcpy))},
      {"memset",
       reinterpret_cast<std::uint64_t>(static_cast<void* (*)(void*, int, std::size_t)>(&std::memset))},
      {"memmove", reinterpret_cast<std::uint64_t>(
                      static_cast<void* (*)(void*, const void*, std::size_t)>(&std::memmove))},
  };
  for (const RuntimeFunction& function : functions)
    if (function.name == name) return function.address;
  return 0;
}

tl::unexpected<Error> corrupt(const std::string& what) {
  return fail(ErrorCode::corrupt_data, "cpu: object file: " + what + "; compile the module again");
}

std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace

/// One pass over an object, in order: headers, layout, symbols, copy, relocations, protection.
class ObjectReader {
 public:
  explicit ObjectReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Result<LoadedObject> load() {
    HALYARD_TRY(read_headers());
    HALYARD_TRY(lay_out());
    HALYARD_TRY(read_symbols());
    HALYARD_TRY(place_outside_references());
    HALYARD_TRY(map_and_copy());
    HALYARD_TRY(relocate());
    HALYARD_TRY(protect());
    collect_functions();
    return std::move(object_);
  }

 private:
  bool in_file(std::uint64_t offset, std::uint64_t size) const {
    return offset <= bytes_.size() && size <= bytes_.size() - offset;
  }
  template <class T>
  T read(std::uint64_t offset) const {  // the caller checked the range
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  /// A zero-terminated string of a string table, or nothing.
  Result<std::string_view> string_at(const Elf64_Shdr& table, std::uint64_t offset) const {
    if (offset >= table.sh_size) return corrupt("a name lies outside its string table");
    const char* begin = reinterpret_cast<const char*>(bytes_.data() + table.sh_offset + offset);
    const void* end = std::memchr(begin, 0, table.sh_size - offset);
    if (!end) return corrupt("a name has no end");
    return std::string_view(begin, static_cast<std::size_t>(static_cast<const char*>(end) - begin));
  }

  Status read_headers() {
    if (bytes_.size() < sizeof(Elf64_Ehdr))
      return corrupt(fmt::format("{} bytes are too few", bytes_.size()));
    auto header = read<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return corrupt("it is no ELF file");
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_machine != EM_X86_64)
      return fail(
          ErrorCode::unsupported,
          fmt::format("cpu: object file: made for another machine (ELF machine {}); this loader knows x86-64",
                      header.e_machine));
    if (header.e_type != ET_REL) return corrupt("it is not relocatable");
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0)
      return corrupt("it has no section table that this loader knows");
    if (!in_file(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)))
      return corrupt("the section table lies outside the file");
    for (unsigned i = 0; i < header.e_shnum; ++i) {
      auto section = read<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
      if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL &&
          !in_file(section.sh_offset, section.sh_size))
        return corrupt(fmt::format("section {} lies outside the file", i));
      sections_.push_back(section);
    }
    return {};
  }

  bool is_code(const Elf64_Shdr& section) const { return (section.sh_flags & SHF_EXECINSTR) != 0; }

  /// Whether a section takes part in running: it occupies memory and is not for unwinding or debugging.
  Result<bool> is_loaded(std::size_t index) const {
    const Elf64_Shdr& section = sections_[index];
    if (!(section.sh_flags & SHF_ALLOC) || section.sh_size == 0) return false;
    if (section.sh_type == SHT_X86_64_UNWIND || section.sh_type == SHT_NOTE) return false;
    if (section.sh_type != SHT_PROGBITS)
      return fail(
          ErrorCode::unsupported,
          fmt::format("cpu: object file: section {} has type {}; kernels hold only code and constants", index,
                      section.sh_type));
    auto header = read<Elf64_Ehdr>(0);
    if (header.e_shstrndx >= sections_.size() || sections_[header.e_shstrndx].sh_type != SHT_STRTAB)
      return corrupt("sections have no names");
    HALYARD_ASSIGN(std::string_view name, string_at(sections_[header.e_shstrndx], section.sh_name));
    if (name == ".eh_frame") return false;
    constexpr std::uint64_t known = SHF_ALLOC | SHF_EXECINSTR | SHF_MERGE | SHF_STRINGS | SHF_GROUP;
    if (section.sh_flags & ~known)
      return fail(
          ErrorCode::unsupported,
          fmt::format(
              "cpu: object file: section {} has flags {:#x}; kernels hold no writable, thread-local or "
              "compressed data",
              name, section.sh_flags));
    return true;
  }

  Status lay_out() {
    page_ = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    offsets_.assign(sections_.size(), not_loaded);
    HALYARD_TRY(place_sections(true));
    code_end_ = end_;
    return {};
  }

  Status place_sections(bool code) {
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      HALYARD_ASSIGN(bool loaded, is_loaded(i));
      if (!loaded || is_code(sections_[i]) != code) continue;
      std::uint64_t alignment = std::max<std::uint64_t>(sections_[i].sh_addralign, 1);
      if ((alignment & (alignment - 1)) != 0 || alignment > largest_alignment)
        return corrupt(fmt::format("section {} wants alignment {}", i, alignment));
      offsets_[i] = align_up(end_, alignment);
      end_ = offsets_[i] + sections_[i].sh_size;
      if (end_ > largest_mapping) return corrupt("it is larger than 256 MiB");
    }
    return {};
  }

  Status read_symbols() {
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_SYMTAB) continue;
      if (!symbols_.empty()) return corrupt("it has two symbol tables");
      if (section.sh_entsize != sizeof(Elf64_Sym) || section.sh_size % sizeof(Elf64_Sym) != 0 ||
          section.sh_link >= sections_.size() || sections_[section.sh_link].sh_type != SHT_STRTAB)
        return corrupt("its symbol table is malformed");
      names_ = sections_[section.sh_link];
      for (std::uint64_t at = 0; at < section.sh_size; at += sizeof(Elf64_Sym))
        symbols_.push_back(read<Elf64_Sym>(section.sh_offset + at));
    }
    outside_.assign(symbols_.size(), 0);
    thunks_.assign(symbols_.size(), 0);
    slots_.assign(symbols_.size(), 0);
    return {};
  }

  /// Calls `visit(section offset, relocation)` for each relocation of a loaded section.
  template <class Visit>
  Status for_each_relocation(const Visit& visit) {
    for (const Elf64_Shdr& table : sections_) {
      if (table.sh_type != SHT_RELA && table.sh_type != SHT_REL) continue;
      if (table.sh_info >= sections_.size()) return corrupt("relocations for a section that does not exist");
      if (offsets_[table.sh_info] == not_loaded) continue;
      if (table.sh_type == SHT_REL || table.sh_entsize != sizeof(Elf64_Rela) ||
          table.sh_size % sizeof(Elf64_Rela) != 0)
        return corrupt("a relocation table is malformed");
      for (std::uint64_t at = 0; at < table.sh_size; at += sizeof(Elf64_Rela))
        HALYARD_TRY(visit(table.sh_info, read<Elf64_Rela>(table.sh_offset + at)));
    }
    return {};
  }

  /// Room for jumps to runtime functions, for table slots of GOT relocations, and for constants.
  Status place_outside_references() {
    std::uint64_t code_after = align_up(code_end_, thunk_bytes);
    std::vector<std::size_t> with_slot;
    HALYARD_TRY(for_each_relocation([&](std::uint32_t, const Elf64_Rela& relocation) -> Status {
      std::uint64_t index = ELF64_R_SYM(relocation.r_info);
      if (index >= symbols_.size()) return corrupt("a relocation names a symbol that does not exist");
      const Elf64_Sym& symbol = symbols_[index];
      if (symbol.st_shndx == SHN_UNDEF && thunks_[index] == 0) {
        HALYARD_ASSIGN(std::string_view name, string_at(names_, symbol.st_name));
        outside_[index] = runtime_function(name);
        if (outside_[index] == 0)
          return fail(ErrorCode::unsupported,
                      fmt::format("cpu: object file: it calls {}, which kernels may not", name));
        thunks_[index] = code_after;
        code_after += thunk_bytes;
      }
      std::uint64_t type = ELF64_R_TYPE(relocation.r_info);
      bool through_table =
          type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX;
      if (through_table && slots_[index] == 0) {
        slots_[index] = 1;
        with_slot.push_back(index);
      }
      return {};
    }));
    end_ = align_up(code_after, page_);
    code_end_ = end_;
    for (std::size_t index : with_slot) {
      slots_[index] = end_;
      end_ += 8;
    }
    HALYARD_TRY(place_sections(false));
    end_ = align_up(std::max<std::uint64_t>(end_, 1), page_);
    return {};
  }

  Status map_and_copy() {
    void* memory = mmap(nullptr, end_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return fail(ErrorCode::out_of_memory,
                  fmt::format("cpu: mapping {} bytes for code failed: {}", end_, std::strerror(errno)));
    object_.memory_ = static_cast<std::byte*>(memory);
    object_.mapped_ = end_;
    for (std::size_t i = 0; i < sections_.size(); ++i)
      if (offsets_[i] != not_loaded)
        std::memcpy(object_.memory_ + offsets_[i], bytes_.data() + sections_[i].sh_offset,
                    sections_[i].sh_size);
    for (std::size_t i = 0; i < symbols_.size(); ++i) {
      if (thunks_[i] == 0 && outside_[i] == 0) continue;
      static constexpr unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0};
      std::memcpy(object_.memory_ + thunks_[i], jump, sizeof jump);
      std::memcpy(object_.memory_ + thunks_[i] + sizeof jump, &outside_[i], 8);
    }
    return {};
  }

  Result<std::uint64_t> symbol_address(std::uint64_t index) const {
    const Elf64_Sym& symbol = symbols_[index];
    if (symbol.st_shndx == SHN_UNDEF) return address(thunks_[index]);
    if (symbol.st_shndx >= sections_.size() || offsets_[symbol.st_shndx] == not_loaded)
      return corrupt(
          fmt::format("symbol {} lies in section {}, which is not loaded", index, symbol.st_shndx));
    if (symbol.st_value > sections_[symbol.st_shndx].sh_size)
      return corrupt(fmt::format("symbol {} lies outside its section", index));
    return address(offsets_[symbol.st_shndx] + symbol.st_value);
  }

  std::uint64_t address(std::uint64_t offset) const {
    return reinterpret_cast<std::uint64_t>(object_.memory_) + offset;
  }

  Status relocate() {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i] == 0) continue;
      HALYARD_ASSIGN(std::uint64_t target, symbol_address(i));
      std::memcpy(object_.memory_ + slots_[i], &target, 8);
    }
    return for_each_relocation(
        [&](std::uint32_t section, const Elf64_Rela& relocation) { return apply(section, relocation); });
  }

  Status apply(std::uint32_t section, const Elf64_Rela& relocation) {
    std::uint64_t type = ELF64_R_TYPE(relocation.r_info);
    std::uint64_t index = ELF64_R_SYM(relocation.r_info);
    std::uint64_t width = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
    std::uint64_t size = sections_[section].sh_size;
    if (width > size || relocation.r_offset > size - width)
      return corrupt("a relocation lies outside its section");
    std::uint64_t place_offset = offsets_[section] + relocation.r_offset;
    std::uint64_t place = address(place_offset);
    HALYARD_ASSIGN(std::uint64_t target, symbol_address(index));
    std::uint64_t value = target + static_cast<std::uint64_t>(relocation.r_addend);
    switch (type) {
      case R_X86_64_64:
        break;
      case R_X86_64_PC64:
        value -= place;
        break;
      case R_X86_64_PC32:
      case R_X86_64_PLT32:
        value -= place;
        break;
      case R_X86_64_32S:
        break;
      case R_X86_64_GOTPCREL:
      case R_X86_64_GOTPCRELX:
      case R_X86_64_REX_GOTPCRELX:
        value = address(slots_[index]) + static_cast<std::uint64_t>(relocation.r_addend) - place;
        break;
      default:
        return fail(
            ErrorCode::unsupported,
            fmt::format("cpu: object file: relocation type {} is not known; compile position-independent "
                        "code in the small code model",
                        type));
    }
    if (width == 4) {
      auto full = static_cast<std::int64_t>(value);
      if (full < std::numeric_limits<std::int32_t>::min() || full > std::numeric_limits<std::int32_t>::max())
        return corrupt("a relocation does not reach its target");
    }
    std::memcpy(object_.memory_ + place_offset, &value, width);
    return {};
  }

  Status protect() {
    auto allow = [&](std::uint64_t from, std::uint64_t to, int protection) {
      return from == to || mprotect(object_.memory_ + from, to - from, protection) == 0;
    };
    if (!allow(0, code_end_, PROT_READ | PROT_EXEC) || !allow(code_end_, end_, PROT_READ))
      return fail(ErrorCode::io_error,
                  fmt::format("cpu: making code executable failed: {}; a security policy may forbid it",
                              std::strerror(errno)));
    return {};
  }

  void collect_functions() {
    for (std::size_t i = 0; i < symbols_.size(); ++i) {
      const Elf64_Sym& symbol = symbols_[i];
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || ELF64_ST_BIND(symbol.st_info) != STB_GLOBAL) continue;
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= sections_.size()) continue;
      if (offsets_[symbol.st_shndx] == not_loaded || !is_code(sections_[symbol.st_shndx])) continue;
      if (symbol.st_value >= sections_[symbol.st_shndx].sh_size) continue;
      if (auto name = string_at(names_, symbol.st_name))
        object_.functions_.push_back(
            {std::string(*name), object_.memory_ + offsets_[symbol.st_shndx] + symbol.st_value});
    }
  }

  std::span<const std::byte> bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<std::uint64_t> offsets_;  // per section: where it lies in the mapping, or not_loaded
  std::vector<Elf64_Sym> symbols_;
  Elf64_Shdr names_{};
  std::vector<std::uint64_t> outside_;  // per symbol: the runtime function's address
  std::vector<std::uint64_t> thunks_;   // per symbol: offset of the jump to it
  std::vector<std::uint64_t> slots_;    // per symbol: offset of its table slot
  std::uint64_t page_ = 4096;
  std::uint64_t end_ = 0;
  std::uint64_t code_end_ = 0;
  LoadedObject object_;
};

Result<LoadedObject> LoadedObject::load(std::span<const std::byte> object) {
  return ObjectReader(object).load();
}

LoadedObject::LoadedObject(LoadedObject&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      mapped_(std::exchange(other.mapped_, 0)),
      functions_(std::move(other.functions_)) {}

LoadedObject& LoadedObject::operator=(LoadedObject&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(mapped_, other.mapped_);
  std::swap(functions_, other.functions_);
  return *this;
}

LoadedObject::~LoadedObject() {
  if (memory_) munmap(memory_, mapped_);
}

void* LoadedObject::function(std::string_view name) const {
  for (const Function& function : functions_)
    if (function.name == name) return function.address;
  return nullptr;
}

}  // namespace halyard::cpu
