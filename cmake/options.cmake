# What a user may choose at configure time. AUTO means: used when found, left out when not.
option(RONDE_TESTS "Build the tests" ON)
set(RONDE_TESTS_ONLY "" CACHE STRING "Of the C++ tests, only files whose path matches this (a regular expression); empty: all")
option(RONDE_TORCH "Build the parts that need libtorch (>= 2.6)" ON)
set(RONDE_CUDA AUTO CACHE STRING "CUDA support: AUTO, ON or OFF")
set(RONDE_NCCL AUTO CACHE STRING "NCCL support, which needs CUDA: AUTO, ON or OFF")
set(RONDE_CUDA_ARCHITECTURES "80;90" CACHE STRING "GPUs that kernels are compiled for, oldest first; newer ones translate")
set(RONDE_MPI AUTO CACHE STRING "MPI support: AUTO, ON or OFF")
option(RONDE_UNITY "Compile about ten sources at once: half the time from nothing, more after an edit" OFF)
option(RONDE_FUZZ "Build the fuzzer of the file formats; needs clang" OFF)
set(RONDE_SANITIZE "" CACHE STRING "Sanitizers for our own code, as for -fsanitize= (address,undefined or thread)")
set(RONDE_HEADERS_DIR "" CACHE PATH
    "Folder with header-only libraries that this machine lacks (CLI11, toml++, nlohmann-json)")
set(RONDE_TEST_DATA "${CMAKE_CURRENT_SOURCE_DIR}/../shared/data" CACHE PATH
    "Folder with MNIST and CIFAR-10 for tests, which are skipped without it")
foreach(choice RONDE_CUDA RONDE_NCCL RONDE_MPI)
  set_property(CACHE ${choice} PROPERTY STRINGS AUTO ON OFF)
  if(NOT ${choice} MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "${choice} is '${${choice}}'; it takes AUTO, ON or OFF")
  endif()
endforeach()

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)  # libraries outside the system's folders, such as CUDA's

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE}")
endif()
find_program(MOLD mold)
if(MOLD AND CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12.1)
  add_link_options(-fuse-ld=mold)
endif()

if(RONDE_UNITY)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 10)
endif()

# One target that carries how we compile our own code; libraries we use are not held to it.
add_library(ronde_warnings INTERFACE)
target_compile_options(ronde_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
                                                -Woverloaded-virtual -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(ronde_warnings INTERFACE -Wno-restrict)  # GCC bug 105651: false alarms on "a" + std::string
elseif(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # Warnings that look at optimised code: each version has false alarms of its own. Those of GCC 12, which CI has, are
  # kept away in the code.
  target_compile_options(ronde_warnings INTERFACE -Wno-error=array-bounds -Wno-error=stringop-overflow
                                                  -Wno-error=maybe-uninitialized -Wno-error=dangling-reference)
endif()
if(RONDE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(ronde_warnings INTERFACE -Wno-subobject-linkage)  # our sources are #included there, as headers are
endif()
if(RONDE_SANITIZE)
  add_compile_options(-fsanitize=${RONDE_SANITIZE} -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${RONDE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # False alarms that come with the sanitizers: the code they add confuses GCC's flow analysis; and fences, which
    # the thread sanitizer does not see, are used for wake-ups only (data is handed over by acquire and release).
    target_compile_options(ronde_warnings INTERFACE -Wno-maybe-uninitialized -Wno-tsan)
  endif()
endif()
