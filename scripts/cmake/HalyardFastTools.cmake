# Used by the presets: ccache and a fast linker where this machine has them. A plain `cmake -S . -B build` without
# presets does not read this file and takes the platform's defaults.
find_program(HALYARD_CCACHE ccache)
if(HALYARD_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${HALYARD_CCACHE}" CACHE STRING "Compiler launcher")
endif()

# g++ 12 knows -fuse-ld=mold; clang too. lld comes as ld.lld only with the unversioned package.
find_program(HALYARD_MOLD mold)
find_program(HALYARD_LLD ld.lld)
if(HALYARD_MOLD)
  set(halyard_linker "-fuse-ld=mold")
elseif(HALYARD_LLD)
  set(halyard_linker "-fuse-ld=lld")
endif()
if(halyard_linker)
  foreach(kind EXE SHARED MODULE)
    set(CMAKE_${kind}_LINKER_FLAGS_INIT "${halyard_linker}")
  endforeach()
endif()
