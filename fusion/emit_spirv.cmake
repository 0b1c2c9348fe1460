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
  ${CMAKE_CURRENT_LIST_DIR}/src/legalize_exact.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/legalize_float.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/legalize_fma.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/legalize_memory.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/legalize_wide.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/spirv_module.cpp)
target_include_directories(halyard_emit_spirv
  PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_LIST_DIR}/include>
         $<BUILD_INTERFACE:${CMAKE_CURRENT_LIST_DIR}/../hal/include>
  PRIVATE ${CMAKE_CURRENT_LIST_DIR}/src)
target_link_libraries(halyard_emit_spirv PUBLIC halyard_program
  PRIVATE fmt::fmt $<BUILD_INTERFACE:SPIRV-Headers::SPIRV-Headers> $<BUILD_INTERFACE:halyard_compile_options>)

find_package(SPIRV-Tools QUIET)
if(TARGET SPIRV-Tools-static)
  halyard_add_test(emit_spirv
    SOURCES
      ${CMAKE_CURRENT_LIST_DIR}/tests/emit_spirv_tests.cpp
      ${CMAKE_CURRENT_LIST_DIR}/tests/spirv_sample_programs.cpp
    LIBRARIES halyard_emit_spirv SPIRV-Tools-static)
else()
  message(STATUS "SPIRV-Tools not found: the SPIR-V emitter is not tested")
endif()
halyard_add_test(spirv_device
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/tests/spirv_device_tests.cpp
    ${CMAKE_CURRENT_LIST_DIR}/tests/spirv_sample_programs.cpp
    ${CMAKE_CURRENT_LIST_DIR}/tests/vulkan_runner.cpp
  LIBRARIES halyard_emit_spirv ${CMAKE_DL_LIBS}
  LABELS device)
if(TARGET spirv_device_tests AND TARGET halyard_vulkan)
  add_dependencies(spirv_device_tests halyard_vulkan)
endif()
