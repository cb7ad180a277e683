#pragma once

#include <torch/extension.h>

#include "ronde/comm/interruptible.h"

namespace ronde::python {

// Python's lock is given away while this lives, so that other threads of the program run; and Ctrl-C, as any other
// signal whose handler raises something, ends what waits in the engine. Throws error_already_set there.
class Unlocked {
 public:
  Unlocked() : interruptible_(&check_signals) {}

 private:
  static void check_signals() {
    const pybind11::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
  }

  pybind11::gil_scoped_release released_;
  comm::Interruptible interruptible_;
};

}  // namespace ronde::python
