# The C dialect emitter (CUDA C++, HIP C++): text only, no vendor's compiler is linked. Included by this
# folder's CMakeLists.txt.
find_package(fmt REQUIRED)
add_library(halyard_emit_c STATIC
  ${CMAKE_CURRENT_LIST_DIR}/src/c_dialect.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/emit_c.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/emit_c_control.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/emit_c_expressions.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/emit_c_memory.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/emit_llvm_index.cpp)
target_include_directories(halyard_emit_c
  PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_LIST_DIR}/include>
  PRIVATE ${CMAKE_CURRENT_LIST_DIR}/src)
target_link_libraries(halyard_emit_c PUBLIC halyard_program
  PRIVATE $<BUILD_INTERFACE:fmt::fmt> $<BUILD_INTERFACE:halyard_compile_options>)

halyard_add_test(emit_c
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/tests/gpu_compile_tests.cpp
    ${CMAKE_CURRENT_LIST_DIR}/tests/gpu_compilers.cpp
    ${PROJECT_SOURCE_DIR}/hal/program/tests/sample_programs.cpp
  LIBRARIES halyard_emit_c fmt::fmt ${CMAKE_DL_LIBS})
if(TARGET emit_c_tests)
  target_include_directories(emit_c_tests PRIVATE ${PROJECT_SOURCE_DIR}/hal/program/tests)
  set_tests_properties(emit_c PROPERTIES LABELS "emit_c;gpu_compilers")
  # Every kernel that the lowering tests make for a GPU, which they leave in a folder.
  foreach(vendor NVRTC HIPRTC)
    add_test(NAME recorded_kernels_${vendor} COMMAND emit_c_tests "--test-case=recorded kernels*${vendor}")
    set_tests_properties(recorded_kernels_${vendor} PROPERTIES LABELS "recorded_kernels;gpu_compilers"
      FIXTURES_REQUIRED recorded_kernels ENVIRONMENT "HALYARD_KERNEL_FOLDER=${CMAKE_BINARY_DIR}/recorded_kernels")
  endforeach()
endif()

# The same for what the planner makes of graphs; the library is defined further down.
halyard_add_test(gpu_kernels
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/tests/gpu_compilers.cpp
    ${CMAKE_CURRENT_LIST_DIR}/tests/gpu_kernel_tests.cpp
  LIBRARIES halyard_emit_c halyard_fusion halyard_fusion_samples nlohmann_json::nlohmann_json fmt::fmt ${CMAKE_DL_LIBS})
if(TARGET gpu_kernels_tests)
  target_compile_definitions(gpu_kernels_tests PRIVATE
    HALYARD_TEST_PROFILES="${CMAKE_CURRENT_LIST_DIR}/tests/profiles")
endif()
