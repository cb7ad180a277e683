# libtorch exports a part of a std::filesystem of its own, from another version of GCC's C++ library. A program that mixes
# the two ends with a segmentation fault, in remove_all() for one. bind_own_filesystem(target scope) links programs so that
# none of their calls can bind to libtorch's:
#   - Where the C++ library is a shared one, it is looked up before libtorch.
#   - Where the compiler links it statically, the linker would take what libtorch has and only the rest from the archive.
#     So the whole of std::filesystem goes into each program, hidden, so that libtorch keeps to its own as well.
#   - Other C++ libraries (libc++) have other names for it: nothing to do.
# tests/python/test_filesystem_symbols.py looks at what binds where.

# Sets `result` to SHARED, STATIC or NONE: how the compiler links GCC's C++ library, with the user's flags.
function(find_libstdcxx_kind result)
  set(folder "${CMAKE_BINARY_DIR}/CMakeFiles/own_filesystem")
  file(WRITE "${folder}/probe.cc" "#include <filesystem>
#ifndef __GLIBCXX__
#error another C++ library
#endif
int main() { return std::filesystem::exists(\"/\") ? 0 : 1; }
")
  try_compile(is_libstdcxx "${folder}" "${folder}/probe.cc" COPY_FILE "${folder}/probe" CXX_STANDARD 17)
  set(kind NONE)
  if(is_libstdcxx)
    file(STRINGS "${folder}/probe" needed REGEX "libstdc\\+\\+\\.so" LIMIT_COUNT 1)
    set(kind STATIC)
    if(needed)
      set(kind SHARED)
    endif()
  endif()
  set(${result} ${kind} PARENT_SCOPE)
endfunction()

# Sets `result` to an archive with the compiler's own std::filesystem and nothing else.
function(extract_filesystem result)
  set(folder "${CMAKE_BINARY_DIR}/CMakeFiles/own_filesystem")
  set(archive "${folder}/libronde_own_filesystem.a")
  set(members fs_dir.o fs_ops.o fs_path.o)
  execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=libstdc++.a OUTPUT_VARIABLE library
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(REMOVE "${archive}")
  execute_process(COMMAND "${CMAKE_AR}" x "${library}" ${members} WORKING_DIRECTORY "${folder}" RESULT_VARIABLE failed
                  ERROR_VARIABLE reason)
  if(NOT failed)
    execute_process(COMMAND "${CMAKE_AR}" rcs "${archive}" ${members} WORKING_DIRECTORY "${folder}"
                    RESULT_VARIABLE failed ERROR_VARIABLE reason)
  endif()
  if(failed OR NOT EXISTS "${archive}")
    message(FATAL_ERROR "${CMAKE_CXX_COMPILER} links the C++ library statically, and std::filesystem cannot be taken out of "
                        "its archive '${library}' (${reason}): programs would call libtorch's instead and crash; "
                        "take a compiler that has a shared libstdc++ (set CXX)")
  endif()
  set(${result} "${archive}" PARENT_SCOPE)
endfunction()

function(bind_own_filesystem target scope)
  get_property(options GLOBAL PROPERTY own_filesystem_options)
  get_property(known GLOBAL PROPERTY own_filesystem_options SET)
  if(NOT known)
    find_libstdcxx_kind(kind)
    if(kind STREQUAL SHARED)
      set(options "LINKER:--push-state,--no-as-needed,-lstdc++,--pop-state")
    elseif(kind STREQUAL STATIC)
      extract_filesystem(archive)
      cmake_path(GET archive FILENAME name)
      set(options "$<BUILD_INTERFACE:LINKER:--push-state,--whole-archive,${archive},--pop-state,--exclude-libs,${name}>")
    endif()
    set_property(GLOBAL PROPERTY own_filesystem_options "${options}")
  endif()
  target_link_options(${target} ${scope} ${options})
endfunction()
