#pragma once

#include <halyard/base/result.h>
#include <halyard/program/program.h>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// The module format "thread-program": what `hal` hands a device that has no emitter of its own.
///
/// Layout, little-endian throughout:
///
///     offset  bytes  meaning
///     0       4      magic "HyTP"
///     4       2      version of the format (`thread_program_version`)
///     6       2      zero
///     8       8      bytes of the payload
///     16      8      XXH64 of the payload, seed 0
///     24      …      payload
///
/// In the payload a *number* is LEB128 (7 bits per byte, lowest first), a *text* is a number of bytes and the
/// bytes, a *list* is a number of entries and the entries:
///
///     program     := text name, text note, number workgroup_size[3], number subgroup_size,
///                    list of buffer, list of scalar, list of shared, list of type (one per value), block
///     buffer      := text name, byte element, byte access
///     scalar      := text name, byte element
///     shared      := text name, byte element, number count
///     type        := byte element, number lanes
///     block       := list of number (arguments), list of instruction
///     instruction := number op, byte present, then the fields whose bits are set in `present`:
///                    1 type, 2 number immediate, 4 (byte space, number index) memory, 8 number alignment,
///                    16 list of number operands, 32 list of number results, 64 list of number indices,
///                    128 (list of block, text note)
///
/// A reader takes versions up to its own; a newer one is `unsupported`.
namespace halyard::program {

inline constexpr std::uint16_t thread_program_version = 1;

std::vector<std::byte> serialize(const Program& program);

/// The program, verified. Damaged or hostile bytes give corrupt_data, a newer version gives unsupported.
/// Memory taken is bounded by a constant factor of the bytes given.
Result<Program> deserialize(std::span<const std::byte> bytes);

}  // namespace halyard::program
