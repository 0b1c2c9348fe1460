#pragma once

#include <string>

namespace halyard::ops {

/// The page docs/operations.md, written from the table of primitives.
std::string operations_page();

}  // namespace halyard::ops
