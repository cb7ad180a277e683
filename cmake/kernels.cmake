# compile_kernels(RESULT kernel.cu...): object files for a module's SOURCES, by CUDA's compiler, for the GPUs of
# RONDE_CUDA_ARCHITECTURES; later ones translate the newest. Where RONDE_HAVE_KERNELS is not set there is no such compiler.
#
# As commands, not as a language of CMake: libtorch's own CMake files change the flags of that language for everybody, and an
# installed Ronde would ask its users to have the compiler too.
function(compile_kernels result)
  set(architectures ${RONDE_CUDA_ARCHITECTURES})
  set(flags -std=c++20 -O3 -lineinfo -Xcompiler -fPIC,-Wall,-Wextra -Werror all-warnings)
  list(TRANSFORM architectures REPLACE "^(.+)$" "-gencode=arch=compute_\\1,code=sm_\\1" OUTPUT_VARIABLE codes)
  list(GET architectures -1 newest)
  list(APPEND codes "-gencode=arch=compute_${newest},code=compute_${newest}")
  set(objects "")
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file OUTPUT_VARIABLE source)
    set(object "${CMAKE_CURRENT_BINARY_DIR}/${file}.o")
    cmake_path(GET object PARENT_PATH folder)
    file(MAKE_DIRECTORY "${folder}")
    add_custom_command(OUTPUT "${object}"
      COMMAND "${CUDAToolkit_NVCC_EXECUTABLE}" -ccbin "${CMAKE_CXX_COMPILER}" ${flags} ${codes}
              "-I${PROJECT_BINARY_DIR}/include" -MD -MT "${object}" -MF "${object}.d" -c "${source}" -o "${object}"
      DEPENDS "${source}" DEPFILE "${object}.d" VERBATIM
      COMMENT "Building CUDA kernels ${file}")
    list(APPEND objects "${object}")
  endforeach()
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  set(${result} ${objects} PARENT_SCOPE)
endfunction()

# choose_kernels(FILE kernel.cu...): sets kernel_sources and kernel_link, for a module's SOURCES and LINK_PRIVATE. One header,
# ROOM/FILE.h or FILE.h, has ROOM/cuda/FILE.cc and the kernels behind it, or, where these cannot be compiled, ROOM/none/FILE.cc.
function(choose_kernels file)
  cmake_path(GET file PARENT_PATH room)
  cmake_path(GET file FILENAME name)
  if(room)
    string(APPEND room /)
  endif()
  if(RONDE_HAVE_KERNELS)
    compile_kernels(objects ${ARGN})
    set(kernel_sources ${room}cuda/${name}.cc ${objects} PARENT_SCOPE)
    set(kernel_link CUDA::cudart PARENT_SCOPE)
  else()
    set(kernel_sources ${room}none/${name}.cc PARENT_SCOPE)
    set(kernel_link "" PARENT_SCOPE)
  endif()
endfunction()
