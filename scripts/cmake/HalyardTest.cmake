# halyard_add_test(<component> SOURCES … LIBRARIES … [LABELS …] [ENVIRONMENT …]): one doctest program per
# component, registered with CTest under the component's name.
function(halyard_add_test component)
  if(NOT HALYARD_BUILD_TESTS)
    return()
  endif()
  find_package(doctest REQUIRED)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES;LABELS;ENVIRONMENT" ${ARGN})
  add_executable(${component}_tests ${ARG_SOURCES} ${PROJECT_SOURCE_DIR}/scripts/cmake/test_main.cpp)
  target_link_libraries(${component}_tests PRIVATE ${ARG_LIBRARIES} doctest::doctest halyard_compile_options)
  target_compile_definitions(${component}_tests PRIVATE DOCTEST_CONFIG_SUPER_FAST_ASSERTS)
  add_test(NAME ${component} COMMAND ${component}_tests)
  set_tests_properties(${component} PROPERTIES LABELS "${component};${ARG_LABELS}"
    ENVIRONMENT "HALYARD_VALIDATE=1;HALYARD_BACKEND_PATH=${HALYARD_BACKEND_OUTPUT_DIRECTORY};${ARG_ENVIRONMENT}")
endfunction()

# halyard_add_fuzzer(<name> SOURCES … LIBRARIES … [CORPUS folder]): a libFuzzer target <name>_fuzzer (a source defines
# LLVMFuzzerTestOneInput) in bin/fuzz, built only by the preset `fuzz`, which instruments every library too.
# scripts/fuzz runs all of them; CORPUS is a folder of starting inputs beside the source.
function(halyard_add_fuzzer name)
  if(NOT HALYARD_BUILD_FUZZERS)
    return()
  endif()
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "HALYARD_BUILD_FUZZERS needs clang++ (libFuzzer); this is ${CMAKE_CXX_COMPILER_ID}. "
                        "Use `cmake --preset fuzz`, or -DCMAKE_CXX_COMPILER=clang++-19.")
  endif()
  cmake_parse_arguments(ARG "" "CORPUS" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name}_fuzzer ${ARG_SOURCES})
  target_link_libraries(${name}_fuzzer PRIVATE ${ARG_LIBRARIES} halyard_compile_options)
  target_link_options(${name}_fuzzer PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name}_fuzzer PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/fuzz)
  if(ARG_CORPUS)
    get_filename_component(corpus ${ARG_CORPUS} ABSOLUTE)
    file(WRITE ${CMAKE_BINARY_DIR}/bin/fuzz/${name}_fuzzer.corpus "${corpus}\n")
  endif()
endfunction()
