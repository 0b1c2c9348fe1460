# Tile programs and their lowering to thread programs.
set(halyard_lower_sources
  src/lowering/lowering.cpp
  src/lowering/evaluate.cpp
  src/lowering/fold.cpp)
# Patterns that join as they are written.
foreach(source contraction attention)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/src/lowering/lower_${source}.cpp)
    file(GLOB more CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/lowering/lower_${source}*.cpp)
    list(APPEND halyard_lower_sources ${more})
    string(TOUPPER ${source} upper)
    list(APPEND halyard_lower_definitions HALYARD_LOWERS_${upper})
  endif()
endforeach()

halyard_add_library(halyard_lower
  SOURCES ${halyard_lower_sources}
  LIBRARIES halyard_ops halyard_program
  PRIVATE_LIBRARIES fmt::fmt nlohmann_json::nlohmann_json)
target_compile_definitions(halyard_lower PRIVATE ${halyard_lower_definitions})
