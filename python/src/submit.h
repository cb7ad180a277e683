#pragma once

#include <optional>
#include <string>
#include <vector>

#include <torch/extension.h>

#include "pending.h"
#include "ronde/comm/group.h"

namespace ronde::python {

// Horovod's numbers for what becomes of values: Average 0, Sum 1, Adasum 2, Min 3, Max 4, Product 5.
// FAILS WITH: BadInput for another number.
comm::ReduceOp reduce_op(int number);

// A request for this tensor like `like` (operation, name, op, scales, root, splits), and what is kept until it is done.
// Reductions and broadcasts write to `output`, which may be the tensor itself; where it is undefined, the engine asks
// for memory once it knows the shape. FAILS WITH: BadInput for a tensor that is not contiguous, or of a type that
// cannot travel.
struct Prepared {
  comm::Request request;
  Travelling part;
};
Prepared prepare(const at::Tensor& tensor, at::Tensor output, comm::Request like);

}  // namespace ronde::python
