# The list of optional parts, as `ronde info` prints it: one record a part, written into parts.cc by src/cli.
# record_part(NAME MPI FOUND yes VERSION 3.1 PACKAGE libopenmpi-dev PURPOSE "between nodes" [DETAIL path])
set_property(GLOBAL PROPERTY RONDE_PARTS "")

function(record_part)
  cmake_parse_arguments(PART "" "NAME;FOUND;VERSION;PACKAGE;PURPOSE;DETAIL" "" ${ARGN})
  if(PART_FOUND)
    set(found true)
    message(STATUS "ronde: ${PART_NAME} ${PART_VERSION} (${PART_PURPOSE})")
  else()
    set(found false)
    message(STATUS "ronde: ${PART_NAME} left out (${PART_PURPOSE}); ${PART_PACKAGE} would bring it")
  endif()
  set_property(GLOBAL APPEND_STRING PROPERTY RONDE_PARTS
    "    {\"${PART_NAME}\", ${found}, \"${PART_VERSION}\", \"${PART_PACKAGE}\", \"${PART_PURPOSE}\", \"${PART_DETAIL}\"},\n")
endfunction()

# Stops when the user insisted on a part (RONDE_CUDA=ON) that is not there.
function(refuse_if_insisted choice found package)
  if(${choice} STREQUAL ON AND NOT found)
    message(FATAL_ERROR "${choice}=ON, but it was not found: install ${package}, or name its folder in CMAKE_PREFIX_PATH")
  endif()
endfunction()
