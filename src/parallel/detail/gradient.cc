#include "ronde/parallel/detail/gradient.h"

#include <memory>

#include "ronde/base/error.h"
#include "ronde/parallel/tensor_buffer.h"

namespace ronde::parallel::detail {
namespace {

comm::Request gather(std::string name, const torch::Tensor& rows) {
  return {.operation = comm::Operation::Allgather,
          .name = std::move(name),
          .input = buffer_of(rows),
          .keeps = std::make_shared<torch::Tensor>(rows)};
}

// Dense values in another order than the shape's, such as channels last, are reduced as they lie. The engine is told,
// since ranks whose orders differ would add up different elements.
comm::Buffer buffer_in_order(const torch::Tensor& tensor) {
  comm::Buffer buffer = buffer_of(tensor);
  if (!tensor.is_contiguous()) buffer.strides = tensor.strides().vec();
  return buffer;
}

// What an allgather has left in the engine's memory.
torch::Tensor gathered(const comm::Result& result, torch::ScalarType type) {
  const auto extents = result.output.shape.extents();
  const c10::IntArrayRef sizes(extents.data(), extents.size());
  if (result.output.data == nullptr) return torch::empty(sizes, type);
  return torch::from_blob(result.output.data, sizes, [keep = result.memory](void*) {}, type);
}

}  // namespace

// Sparse is what embeddings make: some rows of the parameter.
Presence Gradient::presence() const {
  const torch::Tensor& gradient = parameter_.grad();
  if (!gradient.defined()) return Presence::None;
  return gradient.is_sparse() && gradient.sparse_dim() == 1 ? Presence::Sparse : Presence::Dense;
}

void Gradient::make_zero(Presence kind) {
  torch::NoGradGuard no_grad;
  if (kind == Presence::Dense) {
    parameter_.mutable_grad() = torch::zeros_like(parameter_);
    return;
  }
  auto no_rows = parameter_.sizes().vec();
  no_rows[0] = 0;
  parameter_.mutable_grad() = torch::sparse_coo_tensor(torch::empty({1, 0}, parameter_.options().dtype(torch::kInt64)),
                                                       torch::empty(no_rows, parameter_.options()), parameter_.sizes());
}

std::vector<comm::Request> Gradient::requests(const Wire& wire) {
  torch::NoGradGuard no_grad;
  torch::Tensor gradient = parameter_.grad();
  const bool to_dense = wire.sparse_as_dense || presence() == Presence::Dense;
  sparse_again_ = wire.sparse_again && to_dense && presence() == Presence::Sparse;
  if (gradient.is_sparse() && to_dense) {
    gradient = gradient.to_dense();
    if (!sparse_again_) parameter_.mutable_grad() = gradient;
  }
  was_sparse_ = gradient.is_sparse() || sparse_again_;
  if (gradient.is_sparse()) {
    if (wire.op == comm::ReduceOp::Adasum)
      throw Error::bad_input("the gradient of '{}' is sparse, but Adasum needs dense gradients: set sparse_as_dense",
                             name_);
    const torch::Tensor merged = gradient.coalesce().cpu();
    return {gather(name_ + ".indices", merged.indices().t().contiguous()),
            gather(name_ + ".values", merged.values().contiguous())};
  }
  const torch::Tensor changed = wire.compress ? wire.compress(name_, gradient) : gradient;
  travelling_ = travels_as_it_is(changed) ? changed : changed.cpu();
  const bool has_order = travelling_.dim() <= static_cast<std::int64_t>(comm::Shape::kMost);
  if (!travelling_.is_non_overlapping_and_dense() || !has_order) travelling_ = travelling_.contiguous();
  std::vector<comm::Request> one(1);
  one[0].name = name_;
  one[0].input = buffer_in_order(travelling_);
  if (!one[0].input.strides.empty()) one[0].output = one[0].input;
  one[0].op = wire.op;
  one[0].prescale = wire.prescale;
  one[0].postscale = wire.postscale;
  one[0].compression = wire.compression;
  one[0].stream = stream_of(travelling_);
  one[0].keeps = std::make_shared<torch::Tensor>(travelling_);
  return one;
}

void Gradient::finish(const Wire& wire) {
  if (handles_.size() == 2) {
    finish_sparse(wire);
  } else {
    handles_[0].wait(stream_of(travelling_));
    torch::NoGradGuard no_grad;
    torch::Tensor& gradient = parameter_.mutable_grad();
    if (wire.decompress) travelling_ = wire.decompress(name_, travelling_);
    if (sparse_again_)
      gradient = travelling_.to(gradient.options().layout(torch::kStrided)).to_sparse(1);
    else if (gradient.data_ptr() != travelling_.data_ptr())
      gradient.copy_(travelling_);
  }
  handles_.clear();
  travelling_.reset();
}

void Gradient::finish_sparse(const Wire& wire) {
  torch::NoGradGuard no_grad;
  const torch::Tensor indices = gathered(handles_[0].wait(), torch::kInt64);
  const torch::Tensor values = gathered(handles_[1].wait(), parameter_.scalar_type());
  const auto sum = torch::sparse_coo_tensor(indices.t(), values, parameter_.sizes()).coalesce();
  parameter_.mutable_grad() = sum.mul(wire.sparse_scale).to(parameter_.device());
}

}  // namespace ronde::parallel::detail
