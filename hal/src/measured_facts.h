#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "halyard/hal/device.h"

namespace halyard::hal {

/// Numeric facts from the disk cache, else by the registered prober; nothing if there is none or it failed (a
/// warning).
std::optional<NumericFacts> probe_device(const std::shared_ptr<Device>& device);

/// Rates from the disk cache, else (with `run`) by the registered measurer.
Result<Measurements> measure_device(const std::shared_ptr<Device>& device, bool run);

/// The cached forms: JSON, read with suspicion.
std::string write_numeric_facts(const NumericFacts& facts);
std::optional<NumericFacts> read_numeric_facts(std::string_view text);
std::string write_measurements(const Measurements& measurements);
std::optional<Measurements> read_measurements(std::string_view text);

}  // namespace halyard::hal
