# Nothing here touches the compiler or the flags of a project that contains Farro.

option(FARRO_NATIVE "Compile Farro's own sources for this machine's processor" ${PROJECT_IS_TOP_LEVEL})
option(FARRO_WARNINGS "Compile Farro's own sources with warnings" ${PROJECT_IS_TOP_LEVEL})
option(FARRO_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(FARRO_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(FARRO_BUILD_BENCHMARKS "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(FARRO_ENABLE_CUDA "Build the CUDA backend (needs a Kokkos with CUDA)" OFF)

include(GNUInstallDirs)

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

  # Paths are hashed relative to the build folder, so that all of build/<preset> share entries.
  find_program(FARRO_CCACHE ccache)
  if(FARRO_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    foreach(language CXX CUDA)
      set(CMAKE_${language}_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
        CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${FARRO_CCACHE})
    endforeach()
  endif()
endif()
