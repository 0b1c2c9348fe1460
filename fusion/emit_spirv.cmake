# The SPIR-V emitter: writes words directly; SPIRV-Headers gives the numbers, nothing is linked.
find_package(fmt REQUIRED)
find_package(SPIRV-Headers REQUIRED)
add_library(halyard_emit_spirv STATIC
  ${CMAKE_CURRENT_LIST_DIR}/src/emit_spirv.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/emit_spirv_addressing.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/emit_spirv_arithmetic.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/emit_spirv_control.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/emit_spirv_memory.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/emit_spirv_vectors.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/legalize.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/legalize_cast.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/legalize_control.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/legalize_float.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/legalize_memory.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/legalize_wide.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/spirv_module.cpp)
target_include_directories(halyard_emit_spirv
  PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_LIST_DIR}/include>
         $<BUILD_INTERFACE:${CMAKE_CURRENT_LIST_DIR}/../hal/include>
  PRIVATE ${CMAKE_CURRENT_LIST_DIR}/src)
target_link_libraries(halyard_emit_spirv PUBLIC halyard_program
  PRIVATE fmt::fmt $<BUILD_INTERFACE:SPIRV-Headers::SPIRV-Headers> $<BUILD_INTERFACE:halyard_compile_options>)
