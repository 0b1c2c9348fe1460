# What every Halyard target shares: language level, warnings, visibility, position-independent code.
include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
# Backend modules lie where the registry looks first: beside the libraries of the build or of the install.
set(HALYARD_BACKEND_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/halyard)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

# Designated initializers leave defaulted members out on purpose, hence -Wno-missing-field-initializers.
# Numbers must not depend on the compiler's mood: no contraction, no relaxed arithmetic anywhere.
add_library(halyard_compile_options INTERFACE)
target_compile_options(halyard_compile_options INTERFACE
  -Wall -Wextra -Wno-missing-field-initializers -ffp-contract=off -fno-fast-math
  $<$<BOOL:${HALYARD_WARNINGS_AS_ERRORS}>:-Werror>)

# halyard_add_library(<name> SOURCES … [PUBLIC_INCLUDE dir] [LIBRARIES …] [PRIVATE_LIBRARIES …])
# A static component library with its public headers under include/ and its private ones under src/.
function(halyard_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES;PRIVATE_LIBRARIES" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  string(REPLACE "halyard_" "" short ${name})
  add_library(Halyard::${short} ALIAS ${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${short})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC ${ARG_LIBRARIES} PRIVATE ${ARG_PRIVATE_LIBRARIES}
    $<BUILD_INTERFACE:halyard_compile_options>)
  set_property(GLOBAL APPEND PROPERTY HALYARD_COMPONENTS ${name})
  set_property(GLOBAL APPEND PROPERTY HALYARD_INCLUDE_DIRECTORIES ${CMAKE_CURRENT_SOURCE_DIR}/include)
endfunction()

include(${CMAKE_CURRENT_LIST_DIR}/HalyardBackend.cmake)
