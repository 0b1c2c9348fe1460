#pragma once

#include <halyard/conformance/suite.h>

#include "elementwise_oracle.h"

/// The suites, one file each, and what they share.
namespace halyard::conformance {

Suite hal_suite();
Suite ops_suite();
Suite fusion_suite();
Suite equality_suite();
Suite models_suite();
Suite onnx_suite();

/// What the probe found of the subject's arithmetic.
Allowance allowance_of(const hal::DeviceInfo& info);
ops::NumericClass class_of(const hal::DeviceInfo& info);

/// 32 hexadecimal digits over types, shapes and bits, NaNs made equal.
std::string hash_of(std::span<const ops::HostTensor> tensors);

/// The first element in which two tensors of one type differ beyond what "same bits" excuses, in words; empty
/// if none. Where either device flushes subnormals, elements below the least normal number count as equal.
std::string first_difference(const ops::HostTensor& got, const ops::HostTensor& wanted,
                             bool flushes_subnormals);

/// Lower-case words between hyphens: what a command line takes without quotes.
std::string slug(std::string_view text);

/// `unsupported` if the error says so, else a failure with its message.
Outcome outcome_of(const Error& error);

}  // namespace halyard::conformance
