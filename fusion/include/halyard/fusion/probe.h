#pragma once

#include <halyard/hal/device.h>

namespace halyard::fusion {

/// Finds what a device's arithmetic is by running small kernels on it and comparing bits with the host's
/// (which is correctly rounded IEEE 754): whether fma is fused, subnormals are kept, + - x / and sqrt round
/// correctly, conversions round, zeros keep their signs. A fact that cannot be asked (a missing type) stays
/// unknown.
Result<hal::NumericFacts> probe_numeric_facts(const std::shared_ptr<hal::Device>& device);

/// Measures bandwidth (copy, triad), f32 rate and the costs of launches, submissions and workgroups, each as
/// the best of several runs. Takes about a second.
Result<hal::Measurements> measure_device(const std::shared_ptr<hal::Device>& device);

/// Registers both with hal, which caches their results on disk. A program that links `Compiler` has done so
/// before main; others call it once, before devices are opened. Calling it again does nothing. Thread-safe.
void register_probes();

}  // namespace halyard::fusion
