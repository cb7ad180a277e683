# make_registry(RESULT
#   OF OptimizerEntry              what one entry is,
#   NAMESPACE ronde::train         and where that type and the functions are
#   HEADER ronde/train/optim/entry.h
#   FUNCTION optimizer_entries     std::vector<OptimizerEntry> optimizer_entries(), in the order of FILES
#   FILES optim/entries/sgd.cc ...)
# Each file NAME.cc defines `OptimizerEntry NAME_entry()`, which says all there is to know about one thing. RESULT is FILES and
# the source that is made of their names: to add a thing takes one file and its line in the module's CMakeLists.txt. A
# list that the build makes leaves no entry to the linker, which would drop an object file that nobody names.
function(make_registry result)
  cmake_parse_arguments(REGISTRY "" "OF;NAMESPACE;HEADER;FUNCTION" "FILES" ${ARGN})
  set(REGISTRY_DECLARED "")
  set(REGISTRY_CALLED "")
  foreach(file IN LISTS REGISTRY_FILES)
    cmake_path(GET file STEM name)
    string(APPEND REGISTRY_DECLARED "${REGISTRY_OF} ${name}_entry();\n")
    string(APPEND REGISTRY_CALLED "${name}_entry(), ")
  endforeach()
  set(made "${CMAKE_CURRENT_BINARY_DIR}/${REGISTRY_FUNCTION}.cc")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/registry.cc.in" "${made}" @ONLY)
  set(${result} ${REGISTRY_FILES} "${made}" PARENT_SCOPE)
endfunction()
