# farro_link_headers(<folder or file>) makes <farro/…> lead to it within the tree.
function(farro_link_headers path)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/include/farro)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${path} ${PROJECT_BINARY_DIR}/include/farro/${path} SYMBOLIC)
endfunction()

# farro_own_flags(<target>) sets what Farro compiles its own sources with.
function(farro_own_flags target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  # Bits must not depend on where a compiler fuses a product and a sum.
  set(flags -ffp-contract=off)
  if(FARRO_NATIVE)
    list(APPEND flags -march=native)
  endif()
  if(FARRO_WARNINGS)
    list(APPEND flags -Wall -Wextra)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # Its own AVX-512 intrinsics set these off, hundreds of times (GCC bug 105593).
      list(APPEND flags -Wno-maybe-uninitialized -Wno-uninitialized)
    endif()
  endif()
  list(JOIN flags , host_flags)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${flags}>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${host_flags}>")
  farro_choose_languages(${target})
endfunction()

# farro_library(<folder> [DEPENDS <folder>…]) makes the target farro::<folder> from every .cpp in
# the folder and below it; without any it is a target of headers.
function(farro_library folder)
  cmake_parse_arguments(arg "" "" "DEPENDS" ${ARGN})
  set(target farro_${folder})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(sources)
    set(scope PUBLIC)
    add_library(${target} ${sources})
    farro_own_flags(${target})
  else()
    set(scope INTERFACE)
    add_library(${target} INTERFACE)
  endif()
  add_library(farro::${folder} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${folder})
  set_property(GLOBAL APPEND PROPERTY farro_libraries ${folder})

  farro_link_headers(${folder})
  target_include_directories(${target} ${scope} $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} ${scope} cxx_std_20)
  foreach(other IN LISTS arg_DEPENDS)
    target_link_libraries(${target} ${scope} farro_${other})
  endforeach()
endfunction()

# farro_link(<folder> <PUBLIC|PRIVATE> <library>…) links more to it, with or without sources.
function(farro_link folder scope)
  get_target_property(type farro_${folder} TYPE)
  if(type STREQUAL INTERFACE_LIBRARY)
    set(scope INTERFACE)
  endif()
  target_link_libraries(farro_${folder} ${scope} ${ARGN})
endfunction()

# farro_define(<folder> <PUBLIC|PRIVATE> <definition>…): private ones need sources to be of use.
function(farro_define folder scope)
  get_target_property(type farro_${folder} TYPE)
  if(type STREQUAL INTERFACE_LIBRARY)
    if(scope STREQUAL PRIVATE)
      return()
    endif()
    set(scope INTERFACE)
  endif()
  target_compile_definitions(farro_${folder} ${scope} ${ARGN})
endfunction()
