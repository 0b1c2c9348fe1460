# The LLVM IR emitter: text only, no LLVM is linked. Included by this folder's CMakeLists.txt.
find_package(fmt REQUIRED)
add_library(halyard_emit_llvm STATIC
  ${CMAKE_CURRENT_LIST_DIR}/src/emit_llvm.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/emit_llvm_arithmetic.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/emit_llvm_cast.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/emit_llvm_control.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/emit_llvm_index.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/emit_llvm_memory.cpp)
target_include_directories(halyard_emit_llvm PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_LIST_DIR}/include>)
target_link_libraries(halyard_emit_llvm PUBLIC halyard_program
  PRIVATE $<BUILD_INTERFACE:fmt::fmt> $<BUILD_INTERFACE:halyard_compile_options>)

# Printed programs run on the cpu backend, opened by its path, against the interpreter of thread programs.
halyard_add_test(emit_llvm
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/tests/emit_llvm_device.cpp
    ${CMAKE_CURRENT_LIST_DIR}/tests/emit_llvm_harness.cpp
    ${CMAKE_CURRENT_LIST_DIR}/tests/emit_llvm_program_tests.cpp
    ${CMAKE_CURRENT_LIST_DIR}/tests/emit_llvm_tests.cpp
  LIBRARIES halyard_emit_llvm ${CMAKE_DL_LIBS})
if(TARGET emit_llvm_tests)
  target_include_directories(emit_llvm_tests PRIVATE ${CMAKE_CURRENT_LIST_DIR}/../hal/include)
  target_compile_definitions(emit_llvm_tests PRIVATE HALYARD_CPU_MODULE="$<TARGET_FILE:halyard_cpu>")
  add_dependencies(emit_llvm_tests halyard_cpu)
endif()
