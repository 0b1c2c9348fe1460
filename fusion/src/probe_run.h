#pragma once

#include <halyard/hal/device.h>
#include <halyard/program/program.h>
#include <cstddef>
#include <cstdint>
#include <span>

namespace halyard::fusion {

/// Runs a one-lane program with an input buffer, an output buffer and one i32 scalar, and waits. `trust_f16`
/// prints conversions to f16 as the device's own, which is what such a probe is about.
Status run_probe(const std::shared_ptr<hal::Device>& device, const program::Program& program,
                 std::span<const std::byte> input, std::span<std::byte> output, std::int32_t count,
                 bool trust_f16 = false);

}  // namespace halyard::fusion
