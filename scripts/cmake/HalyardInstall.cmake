# What `cmake --install` brings, and the package that find_package(Halyard) reads.
#
#   include/halyard/…            every public header
#   lib/libhalyard_*.a           the component libraries, as Halyard::base, Halyard::program, Halyard::hal, …
#   lib/halyard/libhalyard_*.so  the backends (installed where they are defined)
#   lib/cmake/Halyard            the package
#
# find_package(Halyard COMPONENTS plugin) gives Halyard::base, Halyard::program and halyard_add_backend(), all that a
# backend may use; without components everything that was built is found.
include(CMakePackageConfigHelpers)

get_property(halyard_components GLOBAL PROPERTY HALYARD_COMPONENTS)
foreach(emitter halyard_emit_llvm halyard_emit_spirv halyard_emit_c)
  if(TARGET ${emitter})
    string(REPLACE "halyard_" "" short ${emitter})
    set_target_properties(${emitter} PROPERTIES EXPORT_NAME ${short})
    list(APPEND halyard_components ${emitter})
  endif()
endforeach()
list(REMOVE_DUPLICATES halyard_components)

set(halyard_plugin_components halyard_base halyard_program)
foreach(component ${halyard_components})
  set(export HalyardTargets)
  if(component IN_LIST halyard_plugin_components)
    set(export HalyardPluginTargets)
  endif()
  install(TARGETS ${component} EXPORT ${export} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()

get_property(halyard_include_directories GLOBAL PROPERTY HALYARD_INCLUDE_DIRECTORIES)
list(REMOVE_DUPLICATES halyard_include_directories)
foreach(folder ${halyard_include_directories})
  install(DIRECTORY ${folder}/halyard DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
endforeach()

set(halyard_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Halyard)
foreach(export HalyardPluginTargets HalyardTargets)
  install(EXPORT ${export} NAMESPACE Halyard:: DESTINATION ${halyard_package_folder})
endforeach()
set(HALYARD_HAS_ONNX OFF)
if(TARGET halyard_onnx)
  set(HALYARD_HAS_ONNX ON)
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/HalyardConfig.cmake.in
  ${CMAKE_BINARY_DIR}/HalyardConfig.cmake INSTALL_DESTINATION ${halyard_package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/HalyardConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/HalyardConfig.cmake ${CMAKE_BINARY_DIR}/HalyardConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/HalyardBackend.cmake
        DESTINATION ${halyard_package_folder})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/halyard)

# `cmake --build … --target check_headers`: every public header compiles alone, and no #include runs up.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_Interpreter_FOUND)
  add_custom_target(check_headers
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/check_layers --headers-alone
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL)
endif()
