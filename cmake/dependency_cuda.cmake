# CUDA: the runtime library, and the compiler for kernels of our own where it is there.
if(NOT RONDE_CUDA STREQUAL OFF)
  find_package(CUDAToolkit 12.0 QUIET)
  refuse_if_insisted(RONDE_CUDA "${CUDAToolkit_FOUND}" "NVIDIA's CUDA toolkit (>= 12.0)")
endif()
set(RONDE_HAVE_CUDA NO)
if(CUDAToolkit_FOUND AND TARGET CUDA::cudart)
  set(RONDE_HAVE_CUDA YES)
endif()
set(RONDE_HAVE_KERNELS NO)
if(RONDE_HAVE_CUDA AND CUDAToolkit_NVCC_EXECUTABLE)
  set(RONDE_HAVE_KERNELS YES)
endif()
record_part(NAME CUDA FOUND ${RONDE_HAVE_CUDA} VERSION "${CUDAToolkit_VERSION}" PACKAGE "NVIDIA's CUDA toolkit"
            PURPOSE "GPU memory, streams and events" DETAIL "${CUDAToolkit_LIBRARY_ROOT}")

# CUPTI: its headers alone, which toolkits keep in different places; the library is loaded when a program runs.
set(RONDE_HAVE_CUPTI NO)
if(RONDE_HAVE_CUDA)
  set(cupti_folders "${CUDAToolkit_LIBRARY_ROOT}" "${CUDAToolkit_TARGET_DIR}" "${CUDAToolkit_LIBRARY_DIR}/..")
  find_path(CUPTI_INCLUDE_DIR cupti.h
    HINTS "${CUDAToolkit_CUPTI_INCLUDE_DIR}" ${CUDAToolkit_INCLUDE_DIRS} ${cupti_folders}
    PATH_SUFFIXES include extras/CUPTI/include targets/x86_64-linux/include targets/sbsa-linux/include)
  find_library(CUPTI_LIBRARY NAMES cupti libcupti.so.${CUDAToolkit_VERSION_MAJOR}
    HINTS ${cupti_folders} PATH_SUFFIXES lib64 lib extras/CUPTI/lib64 targets/x86_64-linux/lib targets/sbsa-linux/lib)
  mark_as_advanced(CUPTI_INCLUDE_DIR CUPTI_LIBRARY)
  if(NOT CUPTI_LIBRARY)
    set(CUPTI_LIBRARY "")
  endif()
  if(CUPTI_INCLUDE_DIR)
    set(RONDE_HAVE_CUPTI YES)
  endif()
endif()
record_part(NAME CUPTI FOUND ${RONDE_HAVE_CUPTI} VERSION "${CUDAToolkit_VERSION}" PACKAGE "NVIDIA's CUDA toolkit"
            PURPOSE "what GPUs do, in traces" DETAIL "${CUPTI_LIBRARY}")
record_part(NAME "CUDA kernels" FOUND ${RONDE_HAVE_KERNELS} VERSION "${CUDAToolkit_VERSION}" PACKAGE "NVIDIA's nvcc"
            PURPOSE "on GPUs, pictures made ready and residual blocks ended in one pass" DETAIL "${CUDAToolkit_NVCC_EXECUTABLE}")
