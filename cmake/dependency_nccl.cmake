# NCCL: from NCCL_ROOT, the system, CUDA's toolkit, or pip's nvidia-nccl beside the torch that is used, which brings
# libnccl.so.2 without the name that linkers look for.
set(RONDE_NCCL_MINIMUM 2.19)
set(RONDE_HAVE_NCCL NO)
if(RONDE_HAVE_CUDA AND NOT RONDE_NCCL STREQUAL OFF)
  set(beside_torch "")
  foreach(folder IN LISTS CMAKE_PREFIX_PATH Torch_DIR TORCH_INSTALL_PREFIX)
    if(folder MATCHES "^(.*)/torch(/.*)?$")
      list(APPEND beside_torch "${CMAKE_MATCH_1}/nvidia/nccl")
    endif()
  endforeach()
  find_path(NCCL_INCLUDE_DIR nccl.h HINTS "${NCCL_ROOT}" "$ENV{NCCL_ROOT}" ${beside_torch} ${CUDAToolkit_INCLUDE_DIRS}
            PATH_SUFFIXES include)
  find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2
               HINTS "${NCCL_ROOT}" "$ENV{NCCL_ROOT}" ${beside_torch} "${CUDAToolkit_LIBRARY_DIR}"
               PATH_SUFFIXES lib lib64)
  mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)
  set(RONDE_NCCL_VERSION "")
  if(NCCL_INCLUDE_DIR AND NCCL_LIBRARY)
    file(STRINGS "${NCCL_INCLUDE_DIR}/nccl.h" lines REGEX "^#define NCCL_(MAJOR|MINOR|PATCH) +[0-9]+")
    list(TRANSFORM lines REPLACE "^.* ([0-9]+).*$" "\\1")
    list(JOIN lines "." RONDE_NCCL_VERSION)
    if(RONDE_NCCL_VERSION VERSION_GREATER_EQUAL RONDE_NCCL_MINIMUM)
      set(RONDE_HAVE_NCCL YES)
    endif()
  endif()
endif()
refuse_if_insisted(RONDE_NCCL "${RONDE_HAVE_NCCL}"
                   "CUDA and NVIDIA's NCCL (>= ${RONDE_NCCL_MINIMUM}; libnccl-dev, or pip: nvidia-nccl-cu13)")
record_part(NAME NCCL FOUND ${RONDE_HAVE_NCCL} VERSION "${RONDE_NCCL_VERSION}" PACKAGE "libnccl-dev or pip: nvidia-nccl-cu13"
            PURPOSE "between GPUs" DETAIL "${NCCL_LIBRARY}")
