#pragma once

#include <string_view>

#include "ronde/models/entry.h"

namespace ronde::models {

// Whether a model.name is that of a TorchScript module in a file: "torchscript:net.pt".
bool is_torchscript(std::string_view name);

// Networks that torch.jit.script() or torch.jit.trace() has saved, as any other network: parameters and buffers have
// the names that they have in Python, and the weights are those of the file. The module's forward must take one tensor
// and return one. It runs operation by operation, without the optimizer of TorchScript, which changes the arithmetic
// after its first runs: steps after a resume have the bits of steps without one.
// REQUIRES: is_torchscript(name).
// The entry FAILS WITH: BadInput, naming the file: there is none, it holds something else, or returns no tensor.
ModelEntry torchscript_entry(std::string_view name);

}  // namespace ronde::models
