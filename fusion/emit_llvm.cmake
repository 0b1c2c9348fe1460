# The LLVM IR emitter: text only, no LLVM is linked. Included by this folder's CMakeLists.txt.
find_package(fmt REQUIRED)
add_library(halyard_emit_llvm STATIC
  ${CMAKE_CURRENT_LIST_DIR}/src/emit_llvm.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/emit_llvm_arithmetic.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/emit_llvm_cast.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/emit_llvm_control.cpp
  ${CMAKE_CURRENT_LIST_DIR}/src/emit_llvm_memory.cpp)
target_include_directories(halyard_emit_llvm PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_LIST_DIR}/include>)
target_link_libraries(halyard_emit_llvm PUBLIC halyard_program
  PRIVATE fmt::fmt $<BUILD_INTERFACE:halyard_compile_options>)
