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
