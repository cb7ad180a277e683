#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <pybind11/stl.h>

#include "parts.h"
#include "ronde/parallel/tensor_buffer.h"
#include "state.h"
#include "submit.h"

namespace ronde::python {
namespace {

using comm::Operation;

// The engine has names for eight dimensions: more are one long row each to it.
comm::Buffer buffer_by_rows(const at::Tensor& tensor) {
  comm::Buffer buffer = parallel::buffer_of(tensor);
  if (static_cast<std::size_t>(tensor.dim()) > comm::Shape::kMost)
    buffer.shape = comm::Shape({tensor.size(0), tensor.size(0) ? tensor.numel() / tensor.size(0) : 0});
  return buffer;
}

// In the stream in which the caller uses the result: torch keeps memory by stream.
comm::Memory allocate(at::TensorOptions options, std::optional<c10::Stream> stream, const comm::Shape& shape) {
  const c10::OptionalStreamGuard guard(stream);
  auto made = std::make_shared<at::Tensor>(at::empty({static_cast<std::int64_t>(shape.elements())}, options));
  return {.data = made->data_ptr(), .owner = made};
}

void refuse_what_cannot_travel(const at::Tensor& tensor) {
  if (tensor.layout() != at::kStrided)
    throw Error::bad_input("a sparse tensor cannot be reduced directly: use sparse_allreduce_async, or make it dense");
  if (!tensor.is_contiguous())
    throw Error::bad_input("a tensor of shape {} is not contiguous: call its contiguous() first",
                           c10::str(tensor.sizes()));
}

}  // namespace

comm::ReduceOp reduce_op(int number) {
  using comm::ReduceOp;
  constexpr std::array kByNumber{ReduceOp::Average, ReduceOp::Sum, ReduceOp::Adasum,
                                 ReduceOp::Min,     ReduceOp::Max, ReduceOp::Product};
  if (number < 0 || static_cast<std::size_t>(number) >= kByNumber.size())
    throw Error::bad_input("unknown op {}: use Average, Sum, Adasum, Min, Max or Product (0 to 5)", number);
  return kByNumber[static_cast<std::size_t>(number)];
}

Prepared prepare(const at::Tensor& tensor, at::Tensor output, comm::Request like) {
  refuse_what_cannot_travel(tensor);
  const bool in_place = output.defined() && output.is_same(tensor);
  Prepared prepared{.request = std::move(like), .part = {.input = tensor, .output = std::move(output)}};
  auto& [request, part] = prepared;
  const bool as_it_is = parallel::travels_as_it_is(tensor);
  part.device = tensor.device();
  if (!as_it_is) part.input = tensor.cpu();
  request.input = buffer_by_rows(part.input);
  request.stream = parallel::stream_of(part.input);
  if (part.output.defined()) {
    if (!as_it_is)
      part.copy = part.input;  // reduced in place there
    else if (!in_place)
      request.output = buffer_by_rows(part.output);
  } else {
    if (tensor.dim() > 0) part.row = tensor.sizes().slice(1).vec();
    const auto options = part.input.options().requires_grad(false);
    std::optional<c10::Stream> stream;
    if (part.input.is_cuda()) stream = c10::impl::VirtualGuardImpl(at::kCUDA).getStream(part.input.device());
    request.allocate = [options, stream](comm::DType, const comm::Shape& shape) {
      return allocate(options, stream, shape);
    };
  }
  return prepared;
}

namespace {

std::string with_prefix(const char* operation, const std::optional<std::string>& name) {
  return name ? fmt::format("{}.{}", operation, *name) : std::string();
}

// Tensors that travel together have names of their own: "layer.1of3".
std::string one_of(const std::string& name, std::size_t index, std::size_t count) {
  return name.empty() || count == 1 ? name : fmt::format("{}.{}of{}", name, index + 1, count);
}

int submit(const std::vector<at::Tensor>& tensors, const std::vector<at::Tensor>& outputs, const comm::Request& like,
           int group, Pending pending) {
  State& state = State::of_process();
  std::vector<comm::Request> requests;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    auto [request, part] = prepare(tensors[i], outputs.empty() ? at::Tensor() : outputs[i], like);
    request.name = one_of(like.name, i, tensors.size());
    requests.push_back(std::move(request));
    pending.parts.push_back(std::move(part));
  }
  const comm::Group& members = state.group(group);
  if (requests.size() == 1) {
    pending.parts[0].handle = members.submit(std::move(requests[0]));
  } else {
    const auto handles = members.submit(std::move(requests));
    for (std::size_t i = 0; i < handles.size(); ++i) pending.parts[i].handle = handles[i];
  }
  return state.pending().add(std::move(pending));
}

using Tensors = std::vector<at::Tensor>;
using MaybeName = std::optional<std::string>;

Pending::Result shape_of_result(bool many) {
  return many ? Pending::Result::Many : Pending::Result::One;
}

int allreduce(const Tensors& tensors, const Tensors& outputs, const MaybeName& name, int op, double prescale,
              double postscale, int group, bool many) {
  return submit(
      tensors, outputs,
      {.name = with_prefix("allreduce", name), .op = reduce_op(op), .prescale = prescale, .postscale = postscale},
      group, {.result = shape_of_result(many)});
}

int allgather(const Tensors& tensors, const MaybeName& name, int group, bool many) {
  return submit(tensors, {}, {.operation = Operation::Allgather, .name = with_prefix("allgather", name)}, group,
                {.result = shape_of_result(many)});
}

int reducescatter(const Tensors& tensors, const MaybeName& name, int op, double prescale, double postscale, int group,
                  bool many) {
  return submit(tensors, {},
                {.operation = Operation::ReduceScatter,
                 .name = with_prefix("reducescatter", name),
                 .op = reduce_op(op),
                 .prescale = prescale,
                 .postscale = postscale},
                group, {.result = shape_of_result(many)});
}

// `root` is a rank of the job, as Horovod has it, also in a group.
int broadcast(const at::Tensor& tensor, const at::Tensor& output, int root, const MaybeName& name, int group) {
  const auto& ranks = State::of_process().group(group).ranks();
  const auto found = std::ranges::find(ranks, root);
  if (found == ranks.end())
    throw Error::bad_input("cannot broadcast from rank {}: it is not in the process set of ranks {}", root,
                           c10::Join(", ", ranks));
  return submit({tensor}, {output},
                {.operation = Operation::Broadcast,
                 .name = with_prefix("broadcast", name),
                 .root = static_cast<int>(found - ranks.begin())},
                group, {.result = Pending::Result::One});
}

int alltoall(const at::Tensor& tensor, const std::vector<std::int64_t>& splits, at::ScalarType splits_type,
             const MaybeName& name, int group) {
  return submit({tensor}, {},
                {.operation = Operation::Alltoall, .name = with_prefix("alltoall", name), .splits = splits}, group,
                {.result = Pending::Result::WithSplits, .splits_type = splits_type});
}

int without_tensor(Operation operation, int group, Pending::Result result) {
  State& state = State::of_process();
  Pending pending{.result = result};
  pending.parts.push_back({.handle = state.group(group).submit({.operation = operation})});
  return state.pending().add(std::move(pending));
}

}  // namespace

void add_collectives(py::module_& module) {
  module.def("allreduce", &allreduce);
  module.def("allgather", &allgather);
  module.def("reducescatter", &reducescatter);
  module.def("broadcast", &broadcast);
  module.def("alltoall", &alltoall);
  module.def("join", [] { return without_tensor(Operation::Join, 0, Pending::Result::LastJoined); });
  module.def("barrier", [](int group) { return without_tensor(Operation::Barrier, group, Pending::Result::Nothing); });
}

}  // namespace ronde::python
