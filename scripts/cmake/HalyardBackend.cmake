# halyard_add_backend(<vendor> SOURCES … [PRIVATE_LIBRARIES …]): a loadable module libhalyard_<vendor>.so that exports
# nothing but its entry point. In the project's own build and, through find_package(Halyard), for backends elsewhere:
#
#   find_package(Halyard REQUIRED COMPONENTS plugin)
#   halyard_add_backend(mine SOURCES mine.cpp PRIVATE_LIBRARIES Halyard::program)
#
# The sources define HY_BACKEND_ENTRY(<vendor>). The module lands in lib/halyard of the build folder and is installed to
# lib/halyard, where the registry looks. The target halyard_<vendor>_static (not built unless asked for) is the same
# backend to be linked into a program, which hands halyard_backend_entry_<vendor> to Registry::add_static.
include(GNUInstallDirs)

function(halyard_add_backend vendor)
  cmake_parse_arguments(ARG "" "" "SOURCES;PRIVATE_LIBRARIES" ${ARGN})
  set(module halyard_${vendor})
  add_library(${module} MODULE ${ARG_SOURCES})
  set_target_properties(${module} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/halyard CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(TARGET Halyard::base)
    target_link_libraries(${module} PRIVATE Halyard::base)
  endif()
  target_link_libraries(${module} PRIVATE ${ARG_PRIVATE_LIBRARIES})
  target_compile_features(${module} PRIVATE cxx_std_20)
  # Hidden visibility leaves the standard library's templates visible; the list leaves the entry alone.
  set(exports ${CMAKE_CURRENT_BINARY_DIR}/halyard_backend_exports.map)
  file(WRITE ${exports} "{ global: halyard_backend_entry; local: *; };\n")
  target_link_options(${module} PRIVATE -Wl,--version-script=${exports})
  # clang's sanitizers live in the program; a module finds them when it is loaded.
  if(NOT (CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_CXX_FLAGS MATCHES "-fsanitize="))
    target_link_options(${module} PRIVATE -Wl,--no-undefined)
  endif()

  # The objects behind the handles have the same names in every backend; in one program they must not meet.
  set(handles HyDevice HyQueue HyBuffer HyModule HyGraph HyTimeline HyTimeStamps)
  list(TRANSFORM handles REPLACE "(.+)" "\\1=\\1_${vendor}" OUTPUT_VARIABLE renamed)
  add_library(${module}_static STATIC EXCLUDE_FROM_ALL ${ARG_SOURCES})
  set_target_properties(${module}_static PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_definitions(${module}_static PRIVATE HALYARD_STATIC_BACKEND ${renamed}
    $<TARGET_PROPERTY:${module},COMPILE_DEFINITIONS>)
  target_include_directories(${module}_static PRIVATE $<TARGET_PROPERTY:${module},INCLUDE_DIRECTORIES>)
  target_compile_features(${module}_static PRIVATE cxx_std_20)
  target_link_libraries(${module}_static PRIVATE ${ARG_PRIVATE_LIBRARIES})
  if(TARGET halyard_compile_options)
    target_link_libraries(${module} PRIVATE halyard_compile_options)
    target_link_libraries(${module}_static PRIVATE halyard_compile_options)
  endif()
  install(TARGETS ${module} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/halyard)
  # What the conformance suites excuse on this backend's devices (docs/conformance.md) lies beside its library.
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/conformance.json)
    set(exceptions libhalyard_${vendor}.conformance.json)
    configure_file(conformance.json ${CMAKE_BINARY_DIR}/lib/halyard/${exceptions} COPYONLY)
    install(FILES conformance.json DESTINATION ${CMAKE_INSTALL_LIBDIR}/halyard RENAME ${exceptions})
  endif()
endfunction()
