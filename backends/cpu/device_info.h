#pragma once

#include <halyard/hal/plugin.h>
#include <string>
#include <vector>
#include "processor.h"

namespace halyard::cpu {

/// A device's HyDeviceInfo with the strings and arrays that it points to. Not copied or moved once made.
struct DeviceFacts {
  Processor processor;
  std::string architecture;
  std::string driver_version;
  std::vector<const char*> features;
  HyDeviceInfo info{};
};

/// Fills everything for a device of `threads` threads. The result must not move: `info` points into it.
DeviceFacts describe_device(unsigned threads);

/// The device as listings show it.
HyDeviceSummary summarize();

}  // namespace halyard::cpu
