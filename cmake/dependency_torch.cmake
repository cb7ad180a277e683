# libtorch: from CMAKE_PREFIX_PATH or Torch_DIR. A pip-installed torch answers
# `python3 -c "import torch; print(torch.utils.cmake_prefix_path)"`.
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

# use_torch(target): libtorch's headers and libraries, also where the program is installed.
function(use_torch target)
  target_include_directories(${target} SYSTEM PRIVATE ${TORCH_INCLUDE_DIRS})
  target_link_libraries(${target} PRIVATE ${TORCH_LIBRARIES})
  set_property(TARGET ${target} APPEND PROPERTY INSTALL_RPATH "${TORCH_INSTALL_PREFIX}/lib")
endfunction()
