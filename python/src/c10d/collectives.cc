#include "collectives.h"

#include <algorithm>
#include <numeric>

#include "ronde/base/error.h"
#include "ronde/parallel/tensor_buffer.h"

namespace ronde::python::c10d_backend {
namespace {

using comm::Buffer;
using comm::Operation;
using comm::Request;

// In the stream in which the caller uses that tensor. Field by field: an initializer whose later parts may throw makes
// GCC 12 warn.
Request request_for(Operation operation, const at::Tensor& memory) {
  Request request;
  request.operation = operation;
  request.stream = parallel::stream_of(memory);
  return request;
}

Request request_for(Operation operation, const at::Tensor& memory, Buffer input, Buffer output = {}) {
  Request request = request_for(operation, memory);
  request.input = std::move(input);
  request.output = std::move(output);
  return request;
}

void check_count(const char* call, const Tensors& tensors, const Place& place) {
  if (std::ssize(tensors) != place.size)
    throw Error::bad_input("{}: the list has {} tensors, but the group has {} ranks", call, tensors.size(), place.size);
}

void check_elements(const char* call, const at::Tensor& all, const at::Tensor& one, const Place& place) {
  if (all.numel() != one.numel() * place.size || all.scalar_type() != one.scalar_type())
    throw Error::bad_input("{}: {} {} and {} {} do not fit a group of {} ranks", call, at::toString(all.scalar_type()),
                           c10::str(all.sizes()), at::toString(one.scalar_type()), c10::str(one.sizes()), place.size);
}

Buffer in_rows(Buffer buffer, std::int64_t rows, std::int64_t elements_per_row) {
  buffer.shape = {rows, elements_per_row};
  return buffer;
}

// The values of equal parts, one per member, a row each.
Buffer in_parts(const Buffer& buffer, int parts) {
  return in_rows(buffer, parts, static_cast<std::int64_t>(buffer.shape.elements()) / parts);
}

// --- reductions
// -------------------------------------------------------------------------------------------------------

bool bitwise(const Op& op) {
  return op.op_ == Op::BAND || op.op_ == Op::BOR || op.op_ == Op::BXOR;
}

void set_reduction(Request& request, const Op& op) {
  using comm::ReduceOp;
  switch (op.op_) {
    case Op::SUM: request.op = ReduceOp::Sum; return;
    case Op::AVG: request.op = ReduceOp::Average; return;
    case Op::PRODUCT: request.op = ReduceOp::Product; return;
    case Op::MIN: request.op = ReduceOp::Min; return;
    case Op::MAX: request.op = ReduceOp::Max; return;
    case Op::PREMUL_SUM: {
      const auto* const factor = dynamic_cast<const ::c10d::PreMulSumSupplement*>(op.supplement_.get());
      if (!factor) throw Error::bad_input("PREMUL_SUM needs a factor");
      request.op = ReduceOp::Sum;
      request.prescale = factor->tensor_factor.defined() ? factor->tensor_factor.item<double>() : factor->double_factor;
      return;
    }
    default: throw Error::bad_input("reduction {} is not one that ronde knows", static_cast<int>(op.op_));
  }
}

// Sums of complex values are sums of their parts.
at::Tensor as_real(const at::Tensor& tensor, const Op& op) {
  if (!tensor.is_complex()) return tensor;
  if (op.op_ != Op::SUM && op.op_ != Op::AVG && op.op_ != Op::PREMUL_SUM)
    throw Error::bad_input("complex tensors can only be summed or averaged");
  return at::view_as_real(tensor);
}

at::Tensor combined(const at::Tensor& rows, const Op& op) {
  at::Tensor all = rows[0].clone();
  for (std::int64_t i = 1; i < rows.size(0); ++i) {
    if (op.op_ == Op::BAND) all.bitwise_and_(rows[i]);
    if (op.op_ == Op::BOR) all.bitwise_or_(rows[i]);
    if (op.op_ == Op::BXOR) all.bitwise_xor_(rows[i]);
  }
  return all;
}

// The engine has no reductions of bits: everyone gets all values, and combines what it needs.
Transfer reduce_bits(const Place& place, const at::Tensor& input, const Op& op,
                     std::function<void(const at::Tensor&)> take) {
  if (!at::isIntegralType(input.scalar_type(), true))
    throw Error::bad_input("bitwise reductions need integers or bool, got {}", at::toString(input.scalar_type()));
  Transfer transfer;
  const at::Tensor mine = readable(input);
  const at::Tensor all = at::empty({place.size, mine.numel()}, mine.options().requires_grad(false));
  transfer.add(request_for(Operation::Allgather, mine, values_of(mine), values_of(all)), {mine, all});
  transfer.at_end([all, op, take = std::move(take)](Transfer::Handles) { take(combined(all, op)); });
  return transfer;
}

// In place: the tensor itself, or a copy that goes back to it at the end.
at::Tensor in_place(const at::Tensor& tensor, Transfer& transfer) {
  const at::Tensor memory = writable(tensor, transfer);
  if (!memory.is_same(tensor)) memory.copy_(tensor);
  return memory;
}

// Its shape, where the engine has names for so many dimensions: ranks whose shapes differ are told so.
Buffer shaped(const at::Tensor& memory, const at::Tensor& shape) {
  Buffer buffer = values_of(memory);
  if (memory.scalar_type() == shape.scalar_type() &&
      buffer.shape.elements() == static_cast<std::size_t>(shape.numel()) &&
      static_cast<std::size_t>(shape.dim()) <= comm::Shape::kMost)
    buffer.shape = comm::Shape(std::span(shape.sizes().data(), shape.sizes().size()));
  return buffer;
}

// Sparse ones have different numbers of entries: everyone gets all of them, and adds them up.
Transfer allreduce_sparse(const at::Tensor& tensor, const Op& op) {
  if (tensor.layout() != at::kSparse) throw Error::bad_input("all_reduce takes sparse tensors of layout COO only");
  if (op.op_ != Op::SUM) throw Error::bad_input("sparse tensors can only be summed");
  const at::Tensor mine = tensor.coalesce();
  const at::Tensor indices = mine.indices().t().contiguous(), values = mine.values().contiguous();
  Transfer transfer;
  for (const at::Tensor& one : {indices, values}) {
    const std::int64_t rows = one.size(0), row = c10::multiply_integers(one.sizes().slice(1));
    Request request = request_for(Operation::Allgather, one, in_rows(values_of(one), rows, row));
    request.allocate = [options = one.options().requires_grad(false)](comm::DType, const comm::Shape& shape) {
      auto made = std::make_shared<at::Tensor>(at::empty({static_cast<std::int64_t>(shape.elements())}, options));
      return comm::Memory{.data = made->data_ptr(), .owner = made};
    };
    transfer.add(std::move(request), {one});
  }
  transfer.results = {tensor};
  transfer.at_end([tensor, indices, values](Transfer::Handles handles) {
    const auto taken = [](const comm::Handle& handle, const at::Tensor& like) {
      const comm::Result& result = handle.wait();
      std::vector<std::int64_t> sizes = like.sizes().vec();
      sizes[0] = result.output.shape.rows();
      return result.memory ? static_cast<const at::Tensor*>(result.memory.get())->view(sizes)
                           : at::empty(sizes, like.options());
    };
    const at::Tensor all = at::sparse_coo_tensor(taken(handles[0], indices).t(), taken(handles[1], values),
                                                 tensor.sizes(), tensor.options());
    tensor.copy_(all.coalesce());
  });
  return transfer;
}

}  // namespace

Transfer broadcast(const at::Tensor& tensor, int root) {
  Transfer transfer;
  const at::Tensor memory = in_place(tensor, transfer);
  Request request = request_for(Operation::Broadcast, memory, shaped(memory, tensor));
  request.root = root;
  transfer.add(std::move(request), {memory});
  transfer.results = {tensor};
  return transfer;
}

Transfer allreduce(const Place& place, const at::Tensor& tensor, const Op& op) {
  if (tensor.layout() != at::kStrided) return allreduce_sparse(tensor, op);
  Transfer transfer;
  if (bitwise(op)) {
    transfer =
        reduce_bits(place, tensor, op, [tensor](const at::Tensor& all) { tensor.copy_(all.view(tensor.sizes())); });
  } else {
    const at::Tensor real = as_real(tensor, op), memory = in_place(real, transfer);
    Request request = request_for(Operation::Allreduce, memory, shaped(memory, real));
    set_reduction(request, op);
    transfer.add(std::move(request), {memory});
  }
  transfer.results = {tensor};
  return transfer;
}

Transfer reduce(const Place& place, const at::Tensor& tensor, const Op& op, int root) {
  Transfer transfer;
  if (bitwise(op)) {
    transfer = reduce_bits(place, tensor, op, [tensor, is_root = place.rank == root](const at::Tensor& all) {
      if (is_root) tensor.copy_(all.view(tensor.sizes()));
    });
  } else {
    const at::Tensor real = as_real(tensor, op);
    const at::Tensor memory = place.rank == root ? in_place(real, transfer) : readable(real);
    Request request = request_for(Operation::Reduce, memory, shaped(memory, real));
    request.root = root;
    set_reduction(request, op);
    transfer.add(std::move(request), {memory});
  }
  transfer.results = {tensor};
  return transfer;
}

Transfer reduce_scatter_from(const Place& place, const at::Tensor& output, const at::Tensor& input, const Op& op) {
  check_elements("reduce_scatter", input, output, place);
  Transfer transfer;
  if (bitwise(op)) {
    transfer = reduce_bits(place, input, op, [output, rank = place.rank](const at::Tensor& all) {
      output.copy_(all.narrow(0, rank * output.numel(), output.numel()).view(output.sizes()));
    });
  } else {
    const at::Tensor into = as_real(output, op), in = readable(as_real(input, op));
    const at::Tensor memory = writable(into, transfer);
    Request request =
        request_for(Operation::ReduceScatter, in, in_parts(values_of(in), place.size), in_parts(values_of(memory), 1));
    set_reduction(request, op);
    transfer.add(std::move(request), {memory, in});
  }
  transfer.results = {output};
  return transfer;
}

Transfer reduce_scatter(const Place& place, const at::Tensor& output, const Tensors& inputs, const Op& op) {
  check_count("reduce_scatter", inputs, place);
  const at::Tensor& mine = inputs[static_cast<std::size_t>(place.rank)];
  if (mine.numel() != output.numel())
    throw Error::bad_input("reduce_scatter: input {} has {} elements, but the output has {}", place.rank, mine.numel(),
                           output.numel());
  Tensors rows;
  for (const at::Tensor& one : inputs) rows.push_back(one.reshape({-1}));
  const at::Tensor all = at::cat(rows);
  const bool equal = std::ranges::all_of(inputs, [&](const auto& one) { return one.numel() == output.numel(); });
  if (equal) return reduce_scatter_from(place, output, all, op);
  // Shares of different sizes: everyone gets the reduction of all, and takes its own.
  std::int64_t before = 0;
  for (int rank = 0; rank < place.rank; ++rank) before += inputs[static_cast<std::size_t>(rank)].numel();
  Transfer transfer = allreduce(place, all, op);
  transfer.results = {output};
  transfer.at_end([output, all, before](Transfer::Handles) {
    output.copy_(all.narrow(0, before, output.numel()).view(output.sizes()));
  });
  return transfer;
}

// --- moves
// ------------------------------------------------------------------------------------------------------------

Transfer allgather(const Place& place, const Tensors& outputs, const at::Tensor& input) {
  check_count("all_gather", outputs, place);
  const at::Tensor& own = outputs[static_cast<std::size_t>(place.rank)];
  if (own.numel() != input.numel() || own.scalar_type() != input.scalar_type())
    throw Error::bad_input("all_gather: the input is {} {}, but output {}, its place, is {} {}",
                           at::toString(input.scalar_type()), c10::str(input.sizes()), place.rank,
                           at::toString(own.scalar_type()), c10::str(own.sizes()));
  Transfer transfer;
  const at::Tensor in = readable(input);
  const Row row = joined_results(outputs, transfer);
  transfer.add(request_for(Operation::Allgather, in, values_of(in), row.values), {in, row.memory});
  transfer.keeps.insert(transfer.keeps.end(), outputs.begin(), outputs.end());
  transfer.results = outputs;
  return transfer;
}

Transfer allgather_into(const Place& place, const at::Tensor& output, const at::Tensor& input) {
  check_elements("all_gather_into_tensor", output, input, place);
  Transfer transfer;
  const at::Tensor in = readable(input), memory = writable(output, transfer);
  transfer.add(request_for(Operation::Allgather, in, values_of(in), values_of(memory)), {in, memory});
  transfer.results = {output};
  return transfer;
}

Transfer gather(const Place& place, const Tensors& outputs, const at::Tensor& input, int root) {
  Transfer transfer;
  const at::Tensor in = readable(input);
  Request request = request_for(Operation::Gather, in, values_of(in));
  request.root = root;
  if (place.rank == root) {
    check_count("gather", outputs, place);
    const Row row = joined_results(outputs, transfer);
    request.output = row.values;
    transfer.keeps = outputs;
    transfer.results = outputs;
    transfer.add(std::move(request), {in, row.memory});
  } else {
    transfer.add(std::move(request), {in});
  }
  return transfer;
}

Transfer scatter(const Place& place, const at::Tensor& output, const Tensors& inputs, int root) {
  Transfer transfer;
  const at::Tensor memory = writable(output, transfer);
  Request request = request_for(Operation::Scatter, memory, {}, in_parts(values_of(memory), 1));
  request.root = root;
  if (place.rank == root) {
    check_count("scatter", inputs, place);
    for (const at::Tensor& one : inputs)
      if (one.numel() != output.numel() || one.scalar_type() != output.scalar_type())
        throw Error::bad_input("scatter: an input is {} {}, but the output is {} {}", at::toString(one.scalar_type()),
                               c10::str(one.sizes()), at::toString(output.scalar_type()), c10::str(output.sizes()));
    const Row row = joined(inputs);
    request.input = in_parts(row.values, place.size);
    transfer.keeps = inputs;
    transfer.add(std::move(request), {memory, row.memory});
  } else {
    transfer.add(std::move(request), {memory});
  }
  transfer.results = {output};
  return transfer;
}

namespace {

std::vector<std::int64_t> elements_of_each(const Tensors& tensors) {
  std::vector<std::int64_t> elements;
  for (const at::Tensor& one : tensors) elements.push_back(static_cast<std::int64_t>(values_of(one).shape.elements()));
  return elements;
}

// What came must be what the caller expects, member by member.
void check_received(const comm::Handle& handle, const std::vector<std::int64_t>& expected) {
  const auto& came = handle.wait().splits;
  for (std::size_t member = 0; member < came.size(); ++member)
    if (came[member] != expected[member])
      throw Error::bad_input("all_to_all: rank {} of the group has sent {} rows, but {} are expected", member,
                             came[member], expected[member]);
}

}  // namespace

Transfer alltoall(const Place& place, const Tensors& outputs, const Tensors& inputs) {
  check_count("all_to_all", outputs, place);
  check_count("all_to_all", inputs, place);
  Transfer transfer;
  const Row in = joined(inputs), out = joined_results(outputs, transfer);
  const auto with_one = [](Buffer buffer) {
    return in_rows(buffer, static_cast<std::int64_t>(buffer.shape.elements()), 1);
  };
  Request request = request_for(Operation::Alltoall, inputs.front(), with_one(in.values), with_one(out.values));
  request.splits = elements_of_each(inputs);
  transfer.add(std::move(request), {in.memory, out.memory});
  for (const Tensors& all : {outputs, inputs}) transfer.keeps.insert(transfer.keeps.end(), all.begin(), all.end());
  transfer.at_end(
      [expected = elements_of_each(outputs)](Transfer::Handles handles) { check_received(handles.front(), expected); });
  transfer.results = outputs;
  return transfer;
}

Transfer alltoall_rows(const Place& place, const at::Tensor& output, const at::Tensor& input,
                       const std::vector<std::int64_t>& output_splits, const std::vector<std::int64_t>& input_splits) {
  if (input.dim() == 0 || output.dim() == 0) throw Error::bad_input("all_to_all_single: a single value has no rows");
  const auto rows_of = [&](const at::Tensor& tensor, const at::Tensor& row, const std::vector<std::int64_t>& splits) {
    if (splits.empty() && tensor.size(0) % place.size != 0)
      throw Error::bad_input("all_to_all_single: {} rows cannot be divided equally among {} ranks: pass split sizes",
                             tensor.size(0), place.size);
    if (!splits.empty() && std::ssize(splits) != place.size)
      throw Error::bad_input("all_to_all_single: {} split sizes for {} ranks", splits.size(), place.size);
    if (!splits.empty() && std::accumulate(splits.begin(), splits.end(), std::int64_t{0}) != tensor.size(0))
      throw Error::bad_input("all_to_all_single: the split sizes do not add up to {} rows", tensor.size(0));
    return in_rows(values_of(row), tensor.size(0),
                   c10::multiply_integers(tensor.sizes().slice(1)) * units_of(tensor.scalar_type()));
  };
  Transfer transfer;
  const at::Tensor in = readable(input), memory = writable(output, transfer);
  Request request =
      request_for(Operation::Alltoall, in, rows_of(input, in, input_splits), rows_of(output, memory, output_splits));
  request.splits = input_splits;
  transfer.add(std::move(request), {in, memory});
  auto expected = output_splits;
  if (expected.empty()) expected.assign(static_cast<std::size_t>(place.size), output.size(0) / place.size);
  transfer.at_end(
      [expected = std::move(expected)](Transfer::Handles handles) { check_received(handles.front(), expected); });
  transfer.results = {output};
  return transfer;
}

Transfer send(const at::Tensor& tensor, std::string name, int to) {
  Transfer transfer;
  const at::Tensor in = readable(tensor);
  Request request = request_for(Operation::Send, in, values_of(in));
  request.name = std::move(name);
  request.root = to;
  transfer.add(std::move(request), {in});
  transfer.results = {tensor};
  return transfer;
}

Transfer receive(const at::Tensor& tensor, std::string name, int from) {
  Transfer transfer;
  const at::Tensor memory = writable(tensor, transfer);
  Request request = request_for(Operation::Receive, memory, {}, values_of(memory));
  request.name = std::move(name);
  request.root = from;
  transfer.add(std::move(request), {memory});
  transfer.results = {tensor};
  return transfer;
}

Transfer barrier() {
  Transfer transfer;
  Request request;
  request.operation = Operation::Barrier;
  transfer.add(std::move(request), {});
  return transfer;
}

}  // namespace ronde::python::c10d_backend
