# libtorch: from CMAKE_PREFIX_PATH or Torch_DIR. A pip-installed torch answers
# `python3 -c "import torch; print(torch.utils.cmake_prefix_path)"`.
include(own_filesystem)
set(RONDE_TORCH_MINIMUM 2.6)
if(RONDE_TORCH)
  find_package(Torch CONFIG QUIET)
  if(NOT Torch_FOUND)
    message(FATAL_ERROR "libtorch (>= ${RONDE_TORCH_MINIMUM}) is missing: point CMAKE_PREFIX_PATH at it "
                        "(pip's torch: python3 -c 'import torch; print(torch.utils.cmake_prefix_path)'), "
                        "or build without it by -DRONDE_TORCH=OFF")
  endif()
  if(Torch_VERSION VERSION_LESS RONDE_TORCH_MINIMUM)
    message(FATAL_ERROR "libtorch at ${Torch_DIR} is version ${Torch_VERSION}; ronde needs ${RONDE_TORCH_MINIMUM} or newer")
  endif()
  if(TORCH_CXX_FLAGS MATCHES "_GLIBCXX_USE_CXX11_ABI=0")
    message(FATAL_ERROR "libtorch at ${Torch_DIR} was built for the C++ ABI of before 2015, which the libraries of this "
                        "system do not have; take a build with the C++11 ABI")
  endif()
endif()
record_part(NAME libtorch FOUND ${RONDE_TORCH} VERSION "${Torch_VERSION}" PACKAGE "pip: torch"
            PURPOSE "tensors, autograd, kernels" DETAIL "${TORCH_INSTALL_PREFIX}")

# Graphs of whole steps are torch's own, and only in a libtorch for CUDA.
set(RONDE_HAVE_TORCH_CUDA NO)
if(RONDE_TORCH AND TARGET torch_cuda AND NOT RONDE_CUDA STREQUAL OFF)
  set(RONDE_HAVE_TORCH_CUDA YES)
endif()

# use_torch(target PUBLIC|PRIVATE): libtorch's headers and libraries, also where the program is installed. Whoever uses an
# installed Ronde finds its own libtorch.
function(use_torch target scope)
  target_include_directories(${target} SYSTEM ${scope} "$<BUILD_INTERFACE:${TORCH_INCLUDE_DIRS}>")
  target_link_libraries(${target} ${scope} "$<BUILD_INTERFACE:${TORCH_LIBRARIES}>" $<INSTALL_INTERFACE:torch>)
  set_property(TARGET ${target} APPEND PROPERTY INSTALL_RPATH "${TORCH_INSTALL_PREFIX}/lib")
  bind_own_filesystem(${target} ${scope})
endfunction()

# libtorch's headers take fifteen seconds to read: they are compiled once, for all sources of such targets. Sources that do
# not include libtorch belong to a target of their own (add_module: PLAIN): what the headers instantiate would cost each of
# them six seconds again.
function(precompile_torch target)
  if(NOT TARGET ronde_torch_headers)
    add_library(ronde_torch_headers OBJECT "${PROJECT_SOURCE_DIR}/cmake/torch_headers.cc")
    use_torch(ronde_torch_headers PRIVATE)
    target_link_libraries(ronde_torch_headers PRIVATE ronde::base ronde_warnings)
    target_precompile_headers(ronde_torch_headers PRIVATE <torch/torch.h>)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      target_compile_options(ronde_torch_headers PUBLIC -fpch-preprocess)  # ccache needs it
    endif()
    # What ccache takes for the contents of the precompiled headers (CCACHE_PCH_EXTSUM): theirs name the build's folder, so
    # that no other clone would find what this one compiled. Flags are part of what ccache compares anyway.
    file(SHA256 "${TORCH_INSTALL_PREFIX}/include/ATen/Config.h" torch_build)
    file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/ronde_torch_headers.dir/cmake_pch.hxx.gch.sum"
         "torch ${Torch_VERSION} ${torch_build} ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}\n")
  endif()
  target_precompile_headers(${target} REUSE_FROM ronde_torch_headers)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)  # which CMake would compile with -fPIE, and precompiled headers know one way only
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-stringop-overflow)  # as -Wno-restrict: GCC bug 105651
  endif()
endfunction()
