# Finds oneDNN by its header and library, as DNNL::dnnl. Its own configuration file, as Debian builds
# it, ends the whole configuration where OpenCL's development files are missing.
find_path(oneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp HINTS ENV DNNLROOT PATH_SUFFIXES include)
find_library(oneDNN_LIBRARY dnnl HINTS ENV DNNLROOT PATH_SUFFIXES lib)
mark_as_advanced(oneDNN_INCLUDE_DIR oneDNN_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(oneDNN REQUIRED_VARS oneDNN_LIBRARY oneDNN_INCLUDE_DIR)

if(oneDNN_FOUND AND NOT TARGET DNNL::dnnl)
  add_library(DNNL::dnnl UNKNOWN IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION ${oneDNN_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${oneDNN_INCLUDE_DIR})
endif()
