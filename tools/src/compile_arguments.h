#pragma once

#include <halyard/fusion/executable.h>
#include <string>

namespace CLI {
class App;
}

namespace halyard::tools {

/// What `run` and `explain` ask alike of a compilation.
struct CompileArguments {
  std::string fusion;  ///< empty: as HALYARD_FUSION says
  std::string numerics = "standard";

  void add_to(CLI::App& command);
  fusion::CompileOptions options() const;
};

}  // namespace halyard::tools
