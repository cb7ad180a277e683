# hwloc ships no CMake files on the systems we build on. Defines the target hwloc::hwloc.
find_path(hwloc_INCLUDE_DIR hwloc.h)
find_path(hwloc_CONFIG_DIR hwloc/autogen/config.h)  # Debian keeps it in a folder per architecture
find_library(hwloc_LIBRARY hwloc)
if(hwloc_CONFIG_DIR)
  file(STRINGS "${hwloc_CONFIG_DIR}/hwloc/autogen/config.h" hwloc_VERSION_LINE REGEX "define HWLOC_VERSION \"")
  string(REGEX MATCH "[0-9]+\\.[0-9.]+" hwloc_VERSION "${hwloc_VERSION_LINE}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(hwloc REQUIRED_VARS hwloc_LIBRARY hwloc_INCLUDE_DIR VERSION_VAR hwloc_VERSION)
if(hwloc_FOUND AND NOT TARGET hwloc::hwloc)
  add_library(hwloc::hwloc UNKNOWN IMPORTED)
  set_target_properties(hwloc::hwloc PROPERTIES IMPORTED_LOCATION "${hwloc_LIBRARY}"
                                                INTERFACE_INCLUDE_DIRECTORIES "${hwloc_INCLUDE_DIR}")
endif()
mark_as_advanced(hwloc_INCLUDE_DIR hwloc_CONFIG_DIR hwloc_LIBRARY)
