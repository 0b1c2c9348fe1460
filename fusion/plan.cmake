# From a graph to an executable: simplification, planner, tile programs of clusters, memory plan, replay.
find_package(PkgConfig REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
find_package(Threads REQUIRED)

halyard_add_library(halyard_fusion
  SOURCES
    src/axis_factors.cpp
    src/canonicalize.cpp
    src/cluster_to_tile.cpp
    src/compiler.cpp
    src/cost_model.cpp
    src/executable.cpp
    src/executable_builder.cpp
    src/graph_key.cpp
    src/index_expression.cpp
    src/kernel_cache.cpp
    src/kernel_nodes.cpp
    src/kernel_source.cpp
    src/memory_plan.cpp
    src/planner.cpp
    src/simplify.cpp
    src/weight_store.cpp
  LIBRARIES halyard_ops halyard_hal halyard_program halyard_lower
  PRIVATE_LIBRARIES halyard_emit_llvm halyard_emit_spirv fmt::fmt nlohmann_json::nlohmann_json
    PkgConfig::xxhash Threads::Threads)
