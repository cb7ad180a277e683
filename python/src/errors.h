#pragma once

#include <functional>

#include <Python.h>

#include "ronde/base/error.h"

namespace ronde::python {

// RuntimeError's child that Horovod's users catch: a collective failed, because of a peer or because ranks disagree.
PyObject* internal_error();

// Sets Python's error to what this becomes: wrong input is a ValueError, everything else an internal error.
void set_error(const Error& error);

// The same for what happens to a request on its way: an internal error, whatever it is.
void set_internal_error(const std::exception& error);

}  // namespace ronde::python
