# add_module(NAME
#   DEPENDS base trace    the arrows: modules that this one may include; tools/check_tree.py holds it to them
#   HEADERS error.h       public headers, installed as <ronde/NAME/error.h>
#   SHARED loop/step.h    headers that other modules of this tree may include as well, and that are not installed
#   ROOMS low high        folders, the lowest first: each includes only those before it, and the module's root
#   SOURCES error.cc
#   LINK fmt::fmt         libraries that the public headers need
#   LINK_PRIVATE x        libraries that only the sources need
#   TESTS error_test.cc   one test program, NAME_test
#   ALONE file.cc         sources and tests whose local names clash with others', and which RONDE_UNITY leaves by themselves
#   SEPARATE all|tests    RONDE_UNITY leaves all its files, or its tests, by themselves: too many would clash
#   TORCH                 uses libtorch, in its public headers too
#   PLAIN file.cc         of a TORCH module: those SOURCES and TESTS that do not include libtorch. They are compiled without
#                         its headers, in a third of the time; one that comes to include them does not compile any more
#   INTERNAL)             not installed
#
# Code says #include "ronde/base/error.h", in the tree as in an installed prefix; a link in the build folder makes it so.
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/include")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/src" "${PROJECT_BINARY_DIR}/include/ronde" SYMBOLIC)

# take_plain(RESULT LIST): moves what MODULE_PLAIN names out of a list.
macro(take_plain result list)
  set(${result} ${${list}})
  set(others ${${list}})
  list(REMOVE_ITEM others "" ${MODULE_PLAIN})
  list(REMOVE_ITEM ${result} "" ${others})
  set(${list} ${others})
endmacro()

# add_plain(TARGET file.cc...): compiles these for a target of the module without libtorch's headers.
macro(add_plain for)
  set(plain_files ${ARGN})
  if(plain_files)
    add_library(${for}_plain OBJECT ${plain_files})
    set(plain_depends ${MODULE_DEPENDS})
    list(FILTER plain_depends EXCLUDE REGEX "^ronde::(models|parallel|train)$")
    target_link_libraries(${for}_plain PRIVATE ${plain_depends} ${MODULE_LINK} ${MODULE_LINK_PRIVATE} ronde_warnings)
    target_include_directories(${for}_plain PRIVATE "${PROJECT_BINARY_DIR}/include")
    target_sources(${for} PRIVATE $<TARGET_OBJECTS:${for}_plain>)
    if("${for}" MATCHES "_test$")
      target_link_libraries(${for}_plain PRIVATE GTest::gtest)
      compile_as_test(${for}_plain)
    endif()
  endif()
endmacro()

function(add_module name)
  cmake_parse_arguments(MODULE "INTERNAL;TORCH" "SEPARATE" "DEPENDS;HEADERS;SHARED;ROOMS;SOURCES;PLAIN;ALONE;LINK;LINK_PRIVATE;TESTS"
                        ${ARGN})
  set_source_files_properties(${MODULE_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  foreach(file IN LISTS MODULE_PLAIN)
    if(NOT file IN_LIST MODULE_SOURCES AND NOT file IN_LIST MODULE_TESTS)
      message(FATAL_ERROR "add_module(${name}): PLAIN names ${file}, which is in neither SOURCES nor TESTS")
    endif()
  endforeach()
  set(target ronde_${name})
  take_plain(plain_sources MODULE_SOURCES)
  take_plain(plain_tests MODULE_TESTS)
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
  add_plain(${target} ${plain_sources})
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
  keep_wanted_tests(plain_tests)
  if(RONDE_TESTS AND (MODULE_TESTS OR plain_tests))
    add_executable(${name}_test ${MODULE_TESTS})
    if(MODULE_SEPARATE)
      set_target_properties(${name}_test PROPERTIES UNITY_BUILD OFF)
    endif()
    target_link_libraries(${name}_test PRIVATE ${target} ronde_warnings GTest::gtest_main)
    compile_as_test(${name}_test)
    if(MODULE_TORCH)
      precompile_torch(${name}_test)
    endif()
    add_plain(${name}_test ${plain_tests})
    if(MODULE_DEPENDS MATCHES "ronde::(models|parallel|train)" OR MODULE_TORCH)
      add_torch_tests(${name}_test ${name})
    else()
      add_tests(${name}_test ${name})
    endif()
  endif()
endfunction()
