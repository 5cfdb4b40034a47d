# Valgrind knows no AVX-512. Where the library is compiled for a processor that has it, the sources
# that the cases run are compiled once more without it and stand before the library; what they
# define is then not taken from there.
include(CheckCXXSourceCompiles)
if(FARRO_NATIVE)
  set(CMAKE_REQUIRED_FLAGS -march=native)
endif()
check_cxx_source_compiles("#ifndef __AVX512F__\n#error\n#endif\nint main() {}" FARRO_USES_AVX512)
unset(CMAKE_REQUIRED_FLAGS)
if(NOT FARRO_USES_AVX512)
  return()
endif()

file(GLOB backends_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/backends/*.cpp)
list(FILTER backends_sources EXCLUDE REGEX onednn)
file(GLOB autograd_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/autograd/*.cpp)
list(FILTER autograd_sources EXCLUDE REGEX "gradcheck|graph|print")
foreach(source copy host_gemm matmul matmul_plain pointwise random runs small_gemm)
  list(APPEND backends_sources ${PROJECT_SOURCE_DIR}/backends/kernels/${source}.cpp)
endforeach()
foreach(source copy factory matmul pointwise_arithmetic)
  list(APPEND autograd_sources ${PROJECT_SOURCE_DIR}/autograd/ops/${source}.cpp)
endforeach()
file(GLOB hooks_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/hooks/*.cpp)
set(nn_sources ${PROJECT_SOURCE_DIR}/nn/module.cpp ${PROJECT_SOURCE_DIR}/nn/layers/linear.cpp)

foreach(folder backends autograd hooks nn)
  set(target farro_${folder}_without_avx512)
  add_library(${target} OBJECT ${${folder}_sources})
  target_link_libraries(${target} PRIVATE farro_${folder})
  target_compile_definitions(${target} PRIVATE
    $<TARGET_PROPERTY:farro_${folder},COMPILE_DEFINITIONS>)
  # As the library's own, but for the last word.
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE
    $<TARGET_PROPERTY:farro_${folder},COMPILE_OPTIONS> -march=x86-64-v3)
  target_link_libraries(farro_count_instructions PRIVATE $<TARGET_OBJECTS:${target}>)
endforeach()
target_compile_options(farro_count_instructions PRIVATE -march=x86-64-v3)
