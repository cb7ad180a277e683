# What we build on. Required parts stop the configuration with the name of the package that brings them;
# optional ones are recorded with record_part() and shown by `ronde info`.
include(parts)

find_package(Threads REQUIRED)

# Header-only libraries come from the system or from RONDE_HEADERS_DIR.
function(require_headers target header package)
  find_path(${target}_INCLUDE ${header} HINTS "${RONDE_HEADERS_DIR}" PATH_SUFFIXES include)
  if(NOT ${target}_INCLUDE)
    message(FATAL_ERROR "${header} is missing: install ${package}, or give -DRONDE_HEADERS_DIR=FOLDER that holds it")
  endif()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE "${${target}_INCLUDE}")
endfunction()

require_headers(headers_json nlohmann/json.hpp nlohmann-json3-dev)
require_headers(headers_toml toml++/toml.h libtomlplusplus-dev)
require_headers(headers_cli11 CLI/CLI.hpp libcli11-dev)

function(require_package name version package)
  find_package(${name} ${version} CONFIG QUIET)
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "${name} (>= ${version}) is missing: install ${package}, or name its folder in CMAKE_PREFIX_PATH")
  endif()
  set(${name}_VERSION "${${name}_VERSION}" PARENT_SCOPE)
  set(${name}_VERSION_MAJOR "${${name}_VERSION_MAJOR}" PARENT_SCOPE)
endfunction()

require_package(fmt 9.0 libfmt-dev)
require_package(spdlog 1.10 libspdlog-dev)
find_package(hwloc 2.1 MODULE QUIET)
if(NOT hwloc_FOUND)
  message(FATAL_ERROR "hwloc (>= 2.1) is missing: install libhwloc-dev, or name its folder in CMAKE_PREFIX_PATH")
endif()
record_part(NAME hwloc FOUND YES VERSION "${hwloc_VERSION}" PACKAGE libhwloc-dev PURPOSE "topology and binding")

find_package(ZLIB 1.2 QUIET)
if(NOT ZLIB_FOUND)
  message(FATAL_ERROR "zlib is missing: install zlib1g-dev, or name its folder in CMAKE_PREFIX_PATH")
endif()

include(dependency_files)
include(dependency_torch)
include(dependency_python)
include(dependency_cuda)
include(dependency_nccl)
include(dependency_mpi)
include(dependency_mpi_plugins)

if(RONDE_TESTS)
  require_package(GTest 1.12 libgtest-dev)
  include(GoogleTest)
  enable_testing()
endif()
