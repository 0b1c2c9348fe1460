# Tile programs and their lowering to thread programs.
set(halyard_lower_sources
  src/classify.cpp
  src/device_profile.cpp
  src/element_cost.cpp
  src/lowering/argument_fold.cpp
  src/lowering/axes.cpp
  src/lowering/evaluate.cpp
  src/lowering/fold.cpp
  src/lowering/lower.cpp
  src/lowering/lower_attention.cpp
  src/lowering/lower_columns.cpp
  src/lowering/lower_contraction.cpp
  src/lowering/lower_map.cpp
  src/lowering/lower_rows.cpp
  src/lowering/lowering.cpp
  src/lowering/product.cpp
  src/lowering/product_lanes.cpp
  src/lowering/product_tasks.cpp
  src/lowering/row_passes.cpp
  src/lowering/row_plan.cpp
  src/lowering/vector_nest.cpp
  src/tile_builder.cpp
  src/tile_text.cpp
  src/tile_verify.cpp)
halyard_add_library(halyard_lower
  SOURCES ${halyard_lower_sources}
  LIBRARIES halyard_hal halyard_ops halyard_program
  PRIVATE_LIBRARIES fmt::fmt nlohmann_json::nlohmann_json)

halyard_add_test(lowering
  SOURCES
    tests/lower_contraction_tests.cpp
    tests/lower_map_tests.cpp
    tests/lower_reduction_tests.cpp
    tests/lowering_harness.cpp
    tests/tile_program_tests.cpp
  LIBRARIES halyard_lower fmt::fmt nlohmann_json::nlohmann_json)
if(TARGET lowering_tests)
  set_property(TEST lowering PROPERTY FIXTURES_SETUP recorded_kernels)
  set_property(TEST lowering APPEND PROPERTY ENVIRONMENT "HALYARD_RECORD_KERNELS=${CMAKE_BINARY_DIR}/recorded_kernels")
  target_compile_definitions(lowering_tests PRIVATE
    HALYARD_TEST_PROFILES="${CMAKE_CURRENT_SOURCE_DIR}/tests/profiles")
endif()
