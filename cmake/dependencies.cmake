# What scripts/setup has put into the cache folder; Kokkos_ROOT and other hints come before it.
if(PROJECT_IS_TOP_LEVEL)
  if(DEFINED ENV{FARRO_CACHE})
    set(farro_cache $ENV{FARRO_CACHE})
  elseif(DEFINED ENV{XDG_CACHE_HOME})
    set(farro_cache $ENV{XDG_CACHE_HOME}/farro)
  else()
    set(farro_cache $ENV{HOME}/.cache/farro)
  endif()
  if(FARRO_ENABLE_CUDA)
    include(${farro_cache}/prefixes-cuda.cmake OPTIONAL)
  else()
    include(${farro_cache}/prefixes.cmake OPTIONAL)
  endif()
endif()

list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
set(farro_setup_hint "scripts/setup installs it")

# Kokkos' version file rejects a range across major versions, hence the tests by hand.
if(NOT TARGET Kokkos::kokkos)
  find_package(Kokkos QUIET)
  if(NOT Kokkos_FOUND)
    message(FATAL_ERROR "Kokkos was not found: set Kokkos_ROOT, or ${farro_setup_hint}")
  endif()
  if(Kokkos_VERSION VERSION_LESS 3.4 OR NOT Kokkos_VERSION VERSION_LESS 6)
    message(FATAL_ERROR "Kokkos ${Kokkos_VERSION} in ${Kokkos_DIR} is not within 3.4 to 5; "
      "set Kokkos_ROOT to another, or ${farro_setup_hint}")
  endif()
endif()
if(NOT "SERIAL" IN_LIST Kokkos_DEVICES AND NOT "OPENMP" IN_LIST Kokkos_DEVICES)
  message(FATAL_ERROR "Kokkos in ${Kokkos_DIR} has neither Serial nor OpenMP; Farro needs one of them")
endif()
if(FARRO_ENABLE_CUDA AND NOT "CUDA" IN_LIST Kokkos_DEVICES)
  message(FATAL_ERROR "FARRO_ENABLE_CUDA is on, but Kokkos in ${Kokkos_DIR} lacks CUDA; "
    "set Kokkos_ROOT to another, or run scripts/setup --cuda")
endif()
message(STATUS "Kokkos ${Kokkos_VERSION} with ${Kokkos_DEVICES} in ${Kokkos_DIR}")

find_package(OpenMP QUIET COMPONENTS CXX)
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW)  # Boost's own configuration; CMake's search module is going away
endif()
find_package(Boost 1.74 REQUIRED)
find_package(fmt REQUIRED)
find_package(xsimd REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)

# Optional: Farro's own kernels take the place of a library that is not there.
find_package(oneDNN QUIET)
if(NOT oneDNN_FOUND)
  message(STATUS "oneDNN was not found: convolutions and f32 products use Farro's own kernels")
endif()

# Only the OpenMP flavour shares one thread pool with Kokkos and oneDNN. It is loaded at run time,
# so its path is wanted, not a library to link.
find_file(FARRO_OPENBLAS NAMES libopenblas.so.0 libopenblaso.so.0
  PATH_SUFFIXES lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp lib64/openblas-openmp
    lib/openblas-openmp lib64 lib
  PATHS /usr ENV OPENBLAS_ROOT
  DOC "OpenBLAS, OpenMP flavour")
if(NOT FARRO_OPENBLAS)
  message(STATUS "OpenBLAS (OpenMP flavour) was not found: products use Farro's own kernels")
endif()
