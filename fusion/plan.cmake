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
    src/custom_kernel.cpp
    src/emit_files.cpp
    src/executable.cpp
    src/executable_builder.cpp
    src/expand_compounds.cpp
    src/expand_scan.cpp
    src/expand_scatter.cpp
    src/expand_sort.cpp
    src/explanation.cpp
    src/fold_empty.cpp
    src/graph_executor.cpp
    src/graph_key.cpp
    src/host_memory.cpp
    src/index_expression.cpp
    src/kernel_cache.cpp
    src/kernel_nodes.cpp
    src/kernel_source.cpp
    src/measure.cpp
    src/memory_plan.cpp
    src/pack_weight.cpp
    src/planner.cpp
    src/probe.cpp
    src/probe_run.cpp
    src/simplify.cpp
    src/trials.cpp
    src/weight_store.cpp
  LIBRARIES halyard_ops halyard_hal halyard_program halyard_lower
  PRIVATE_LIBRARIES halyard_emit_llvm halyard_emit_spirv halyard_emit_c fmt::fmt nlohmann_json::nlohmann_json
    PkgConfig::xxhash Threads::Threads)

# Graphs that fusion's tests and the conformance suite share.
add_library(halyard_fusion_samples STATIC samples/sample_graphs.cpp)
target_include_directories(halyard_fusion_samples PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/samples/include)
target_link_libraries(halyard_fusion_samples PUBLIC halyard_ops PRIVATE halyard_compile_options)

halyard_add_test(fusion
  SOURCES
    tests/executable_tests.cpp
    tests/interpret_plan.cpp
    tests/planner_tests.cpp
    tests/simplify_tests.cpp
  LIBRARIES halyard_fusion halyard_fusion_samples nlohmann_json::nlohmann_json)
if(TARGET fusion_tests)
  target_include_directories(fusion_tests PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_compile_definitions(fusion_tests PRIVATE
    HALYARD_TEST_PROFILES="${CMAKE_CURRENT_SOURCE_DIR}/tests/profiles")
endif()
