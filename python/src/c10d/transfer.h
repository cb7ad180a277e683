#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include <torch/extension.h>

#include "ronde/comm/handle.h"
#include "ronde/comm/request.h"

namespace ronde::python::c10d_backend {

// What one call of torch.distributed becomes: requests of the engine, and what is left to do when they are done.
struct Transfer {
  using Handles = std::span<const comm::Handle>;
  using Finish = std::function<void(Handles)>;
  struct Ending {
    std::size_t first;  // of its requests
    Finish finish;
  };

  std::vector<comm::Request> requests = {};
  std::vector<at::Tensor> keeps = {};    // whose memory the requests use
  std::vector<at::Tensor> results = {};  // what a future of this call holds
  std::vector<Ending> endings = {};      // puts results where the caller wants them; after all have succeeded

  // `keep` is what the memory of the request belongs to.
  void add(comm::Request request, std::initializer_list<at::Tensor> keep);
  void at_end(Finish finish) { endings.push_back({0, std::move(finish)}); }
  // Both at once: coalesced calls.
  void append(Transfer other);
};

// A tensor as its values in a row, [elements]; types that the engine does not know are bytes to it.
comm::Buffer values_of(const at::Tensor& tensor);
// What the engine counts for one element of such a tensor: 1, or its bytes.
std::int64_t units_of(at::ScalarType type);

// The tensor itself where the engine can read it as it is, otherwise a copy.
at::Tensor readable(const at::Tensor& tensor);

// Memory for a result: the tensor itself, or memory that is copied to it at the end.
at::Tensor writable(const at::Tensor& tensor, Transfer& transfer);

// Several tensors as their values one after the other: without a copy where they lie so.
struct Row {
  at::Tensor memory;  // undefined: that of the tensors themselves
  comm::Buffer values;
};
Row joined(const std::vector<at::Tensor>& tensors);
// The same for results: copied to the tensors at the end, where they do not lie so.
Row joined_results(const std::vector<at::Tensor>& tensors, Transfer& transfer);

}  // namespace ronde::python::c10d_backend
