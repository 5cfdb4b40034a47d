include(CMakePackageConfigHelpers)

get_property(folders GLOBAL PROPERTY farro_libraries)
set(targets farro)
foreach(folder IN LISTS folders)
  list(APPEND targets farro_${folder})
  install(DIRECTORY ${folder}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/farro/${folder}
    FILES_MATCHING PATTERN *.hpp)
endforeach()
install(FILES farro.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/farro OPTIONAL)
install(TARGETS ${targets} EXPORT farro
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/farro)
install(EXPORT farro NAMESPACE farro:: FILE farro-targets.cmake DESTINATION ${package_dir})
configure_package_config_file(cmake/farro-config.cmake.in
  ${PROJECT_BINARY_DIR}/farro-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/farro-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/farro-config.cmake
  ${PROJECT_BINARY_DIR}/farro-config-version.cmake cmake/FindoneDNN.cmake cmake/Findxsimd.cmake
  DESTINATION ${package_dir})
