# CUDA: the runtime library only; kernels come with the modules that have them.
if(NOT RONDE_CUDA STREQUAL OFF)
  find_package(CUDAToolkit 12.0 QUIET)
  refuse_if_insisted(RONDE_CUDA "${CUDAToolkit_FOUND}" "NVIDIA's CUDA toolkit (>= 12.0)")
endif()
set(RONDE_HAVE_CUDA NO)
if(CUDAToolkit_FOUND AND TARGET CUDA::cudart)
  set(RONDE_HAVE_CUDA YES)
endif()
record_part(NAME CUDA FOUND ${RONDE_HAVE_CUDA} VERSION "${CUDAToolkit_VERSION}" PACKAGE "NVIDIA's CUDA toolkit"
            PURPOSE "GPU memory, streams and events" DETAIL "${CUDAToolkit_LIBRARY_ROOT}")
