# add_module(NAME
#   DEPENDS base trace    the arrows: modules that this one may include; tools/check_tree.py holds it to them
#   HEADERS error.h       public headers, installed as <ronde/NAME/error.h>
#   SHARED loop/step.h    headers that other modules of this tree may include as well, and that are not installed
#   SOURCES error.cc
#   LINK fmt::fmt         libraries that the public headers need
#   LINK_PRIVATE x        libraries that only the sources need
#   TESTS error_test.cc   one test program, NAME_test
#   ALONE file.cc         sources and tests whose local names clash with others', and which RONDE_UNITY leaves by themselves
#   SEPARATE all|tests    RONDE_UNITY leaves all its files, or its tests, by themselves: too many would clash
#   TORCH                 uses libtorch, in its public headers too
#   INTERNAL)             not installed
#
# Code says #include "ronde/base/error.h", in the tree as in an installed prefix; a link in the build folder makes it so.
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/include")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/src" "${PROJECT_BINARY_DIR}/include/ronde" SYMBOLIC)

function(add_module name)
  cmake_parse_arguments(MODULE "INTERNAL;TORCH" "SEPARATE" "DEPENDS;HEADERS;SHARED;SOURCES;ALONE;LINK;LINK_PRIVATE;TESTS" ${ARGN})
  set_source_files_properties(${MODULE_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(target ronde_${name})
  add_library(${target} STATIC ${MODULE_SOURCES})
  add_library(ronde::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
                                              $<INSTALL_INTERFACE:include>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  if(NOT RONDE_TORCH)  # what needs it there is left out
    list(REMOVE_ITEM MODULE_DEPENDS models parallel train)
  endif()
  list(TRANSFORM MODULE_DEPENDS PREPEND ronde::)
  # Header-only libraries are compiled in. Whoever uses an installed Ronde needs them only for a header that names them.
  list(TRANSFORM MODULE_LINK REPLACE "^(headers_.*)$" "$<BUILD_INTERFACE:\\1>")
  list(TRANSFORM MODULE_LINK_PRIVATE REPLACE "^(headers_.*)$" "$<BUILD_INTERFACE:\\1>")
  target_link_libraries(${target} PUBLIC ${MODULE_DEPENDS} ${MODULE_LINK}
                                  PRIVATE ${MODULE_LINK_PRIVATE} $<BUILD_INTERFACE:ronde_warnings>)
  if(MODULE_TORCH)
    use_torch(${target} PUBLIC)
    precompile_torch(${target})
  endif()
  if(NOT MODULE_INTERNAL)
    install(TARGETS ${target} EXPORT ronde-targets)
    foreach(header IN LISTS MODULE_HEADERS)
      cmake_path(GET header PARENT_PATH folder)
      install(FILES ${header} DESTINATION include/ronde/${name}/${folder})
    endforeach()
  endif()
  if(MODULE_SEPARATE STREQUAL all)
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  endif()
  keep_wanted_tests(MODULE_TESTS)
  if(RONDE_TESTS AND MODULE_TESTS)
    add_executable(${name}_test ${MODULE_TESTS})
    if(MODULE_SEPARATE)
      set_target_properties(${name}_test PROPERTIES UNITY_BUILD OFF)
    endif()
    target_link_libraries(${name}_test PRIVATE ${target} ronde_warnings GTest::gtest_main)
    compile_as_test(${name}_test)
    if(MODULE_TORCH)
      precompile_torch(${name}_test)
    endif()
    if(MODULE_DEPENDS MATCHES "ronde::(models|parallel|train)" OR MODULE_TORCH)
      add_torch_tests(${name}_test ${name})
    else()
      add_tests(${name}_test ${name})
    endif()
  endif()
endfunction()
