# ronde_add_plugin(mine mine.cc ...): libmine.so, which `ronde train --plugin libmine.so` loads; see <ronde/train/plugin.h>.
function(ronde_add_plugin name)
  if(NOT TARGET torch)
    message(FATAL_ERROR "ronde_add_plugin(${name}) needs libtorch: write find_package(ronde REQUIRED COMPONENTS train)")
  endif()
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE ronde::train)
  target_compile_definitions(${name} PRIVATE "RONDE_PLUGIN_RONDE=\"${RONDE_BUILD_NAME}\"")
  # Nothing but the one function that the program looks for is seen from outside.
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_link_options(${name} PRIVATE -Wl,--gc-sections -Wl,--exclude-libs,ALL)
endfunction()
