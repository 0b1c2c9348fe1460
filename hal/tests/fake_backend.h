#pragma once

#include <cstdint>

#include "halyard/hal/plugin.h"

/// A backend without hardware, written against the C interface alone. Work runs asynchronously on one thread
/// per queue. Devices: 0 maps its memory, 1 does not, 2 is a stand-in ("emulated"). Kernels are host
/// functions chosen by entry:
///   copy_words   (read 0, write 1): u32 words of buffer 0 to buffer 1
///   scale_words  (read 0, write 1, scalars: u32 factor, u32 unused)
///   add_words    (read 0, read 1, write 2)
///   hold         (no buffers): waits until the gate is open
/// Modules have format "fake" and, compiled, "fake-native".
extern "C" const HyBackend* halyard_backend_entry_fake(uint32_t abi_version, const HyHost* host);
/// The same without any optional function: hal must make do.
extern "C" const HyBackend* halyard_backend_entry_bare(uint32_t abi_version, const HyHost* host);
/// A backend whose vendor library is missing.
extern "C" const HyBackend* halyard_backend_entry_absent(uint32_t abi_version, const HyHost* host);

namespace fake {

/// Bytes that a device has in all.
inline constexpr std::uint64_t memory_bytes = std::uint64_t{256} << 20;

/// Holds or lets go all work that runs the kernel `hold`.
void close_gate();
void open_gate();

/// How many modules were compiled (not loaded from native code) so far.
std::uint64_t compilations();
/// Objects alive: devices, buffers, queues, modules, graphs, timelines, time stamps.
std::int64_t live_objects();

}  // namespace fake
