# Finds xsimd by its header, as xsimd::xsimd. Debian's configuration file asks to link a library
# that its header-only dependency does not have.
find_path(xsimd_INCLUDE_DIR xsimd/xsimd.hpp HINTS ENV xsimd_ROOT PATH_SUFFIXES include)
mark_as_advanced(xsimd_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(xsimd REQUIRED_VARS xsimd_INCLUDE_DIR)

if(xsimd_FOUND AND NOT TARGET xsimd::xsimd)
  add_library(xsimd::xsimd INTERFACE IMPORTED)
  target_include_directories(xsimd::xsimd INTERFACE ${xsimd_INCLUDE_DIR})
endif()
