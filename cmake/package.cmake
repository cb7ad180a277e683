# cmake --install PREFIX: headers, libraries, the program, and what find_package(ronde) needs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/ronde")
get_property(RONDE_BUILD_NAME GLOBAL PROPERTY RONDE_BUILD_NAME)
configure_package_config_file(cmake/ronde-config.cmake.in "${PROJECT_BINARY_DIR}/ronde-config.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/ronde-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/ronde-config.cmake" "${PROJECT_BINARY_DIR}/ronde-config-version.cmake"
              cmake/Findhwloc.cmake cmake/ronde_add_plugin.cmake DESTINATION "${package_dir}")
install(EXPORT ronde-targets NAMESPACE ronde:: DESTINATION "${package_dir}")

# Debug information stays in the build folder: what is installed is stripped, archives too, which `cmake --install --strip` leaves
# alone. Last, when everything is in its place.
if(CMAKE_STRIP AND CMAKE_BUILD_TYPE STREQUAL RelWithDebInfo)
  install(CODE "
    file(GLOB_RECURSE files \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/ronde*\"
                            \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libronde_*.a\"
                            \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/ronde/*.so\")
    if(files)
      execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug \${files})
    endif()")
endif()
