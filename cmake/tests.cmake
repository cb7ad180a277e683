# Test programs and their entries in ctest.

# What is tested is optimised as users get it; its test is sooner compiled. From 13 on GCC wants precompiled headers to be
# of the same level.
function(compile_as_test target)
  set(levels_mix NO)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    set(levels_mix YES)
  endif()
  if(CMAKE_BUILD_TYPE STREQUAL RelWithDebInfo AND levels_mix AND NOT RONDE_SANITIZE)
    target_compile_options(${target} PRIVATE -O1 -g0)
  endif()
endfunction()

# Of a list of files with tests, those that RONDE_TESTS_ONLY asks for.
macro(keep_wanted_tests list)
  if(RONDE_TESTS_ONLY)
    list(FILTER ${list} INCLUDE REGEX "${RONDE_TESTS_ONLY}")
  endif()
endmacro()

# add_tests(PROGRAM MODULE): every test is an entry of its own, MODULE.SUITE.TEST, and has a process of its own: one that
# crashes or hangs takes no other with it. A process without torch starts in 1 to 10 ms.
function(add_tests program module)
  gtest_discover_tests(${program} TEST_PREFIX ${module}. DISCOVERY_MODE PRE_TEST)
endfunction()

# add_torch_tests(PROGRAM MODULE): a process that loads libtorch takes a second to start, so the tests run in as few as there
# are cores, as entries MODULE.1-of-2 and so on. Their output names the tests that failed. GoogleTest begins with the suites
# named ...DeathTest: the place for tests that fork, before there are threads.
function(add_torch_tests program module)
  cmake_host_system_information(RESULT shards QUERY NUMBER_OF_LOGICAL_CORES)
  if(shards GREATER 8)
    set(shards 8)
  endif()
  math(EXPR last "${shards} - 1")
  foreach(index RANGE ${last})
    math(EXPR number "${index} + 1")
    set(entry ${module}.${number}-of-${shards})
    add_test(NAME ${entry} COMMAND "${PROJECT_SOURCE_DIR}/tools/dev/test_program.sh" 1440 $<TARGET_FILE:${program}>)
    set_tests_properties(${entry} PROPERTIES TIMEOUT 1500
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()
