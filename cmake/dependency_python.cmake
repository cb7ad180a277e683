# The Python that the package `ronde` is built for: the one whose torch this is. A libtorch without Python has none.
set(RONDE_PYTHON FALSE)
if(RONDE_TORCH AND EXISTS "${TORCH_INSTALL_PREFIX}/lib/libtorch_python.so")
  find_package(Python 3.10 QUIET COMPONENTS Interpreter Development.Module)
  if(Python_FOUND AND EXISTS "${TORCH_INSTALL_PREFIX}/_C.${Python_SOABI}.so")
    set(RONDE_PYTHON TRUE)
  elseif(Python_FOUND)
    message(STATUS "ronde: ${TORCH_INSTALL_PREFIX} is not for ${Python_EXECUTABLE} (${Python_SOABI}): "
                   "name its Python in Python_EXECUTABLE")
  endif()
endif()
record_part(NAME Python FOUND ${RONDE_PYTHON} VERSION "${Python_VERSION}" PACKAGE "python3-dev, pip: torch"
            PURPOSE "the package ronde, with horovod's interface" DETAIL "${Python_EXECUTABLE}")
