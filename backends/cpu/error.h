#pragma once

#include <halyard/base/result.h>
#include <halyard/hal/backend/border.h>
#include <halyard/hal/backend/sized_struct.h>

namespace halyard::cpu {

using hal::backend::at_border;
using hal::backend::element_of;
using hal::backend::read_sized;
using hal::backend::report;
using hal::backend::write_sized;

}  // namespace halyard::cpu
