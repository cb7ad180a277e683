# cmake --install PREFIX: headers, libraries, the program, and what find_package(ronde) needs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/ronde")
configure_package_config_file(cmake/ronde-config.cmake.in "${PROJECT_BINARY_DIR}/ronde-config.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/ronde-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/ronde-config.cmake" "${PROJECT_BINARY_DIR}/ronde-config-version.cmake"
              cmake/Findhwloc.cmake DESTINATION "${package_dir}")
install(EXPORT ronde-targets NAMESPACE ronde:: DESTINATION "${package_dir}")
