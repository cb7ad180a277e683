#include "transfer.h"

#include <iterator>
#include <numeric>

#include "ronde/base/error.h"
#include "ronde/parallel/tensor_buffer.h"

namespace ronde::python::c10d_backend {
namespace {

bool known_to_engine(at::ScalarType type) {
  try {
    parallel::dtype_of(type);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::int64_t units_of(at::ScalarType type) {
  return known_to_engine(type) ? 1 : static_cast<std::int64_t>(c10::elementSize(type));
}

namespace {

comm::Buffer row_of(const at::Tensor& first, std::int64_t elements) {
  const at::ScalarType type = first.scalar_type();
  comm::Buffer buffer{.data = first.data_ptr(),
                      .dtype = known_to_engine(type) ? parallel::dtype_of(type) : comm::DType::U8,
                      .shape = {elements * units_of(type)}};
  if (first.is_cuda()) buffer.device = first.get_device();
  return buffer;
}

std::int64_t elements_of(const std::vector<at::Tensor>& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0},
                         [](std::int64_t sum, const at::Tensor& one) { return sum + one.numel(); });
}

bool usable_as_it_is(const at::Tensor& tensor) {
  return tensor.is_contiguous() && parallel::travels_as_it_is(tensor);
}

// One after the other in one piece of memory, as chunks of a tensor are.
bool lie_in_a_row(const std::vector<at::Tensor>& tensors) {
  const auto* next = static_cast<const std::byte*>(tensors.front().data_ptr());
  for (const at::Tensor& one : tensors) {
    if (!usable_as_it_is(one) || one.data_ptr() != next || !one.storage().is_alias_of(tensors.front().storage()))
      return false;
    next += one.nbytes();
  }
  return true;
}

void check_alike(const std::vector<at::Tensor>& tensors) {
  if (tensors.empty()) throw Error::bad_input("the list of tensors is empty");
  for (const at::Tensor& one : tensors)
    if (one.scalar_type() != tensors.front().scalar_type() || one.device() != tensors.front().device())
      throw Error::bad_input("the tensors of a list must have one type and device, got {} on {} and {} on {}",
                             at::toString(tensors.front().scalar_type()), tensors.front().device().str(),
                             at::toString(one.scalar_type()), one.device().str());
}

at::Tensor row_memory(const std::vector<at::Tensor>& tensors) {
  const at::Tensor& like = tensors.front();
  auto options = like.options().requires_grad(false).memory_format(std::nullopt);
  if (!parallel::travels_as_it_is(like)) options = options.device(at::kCPU);
  return at::empty({elements_of(tensors)}, options);
}

}  // namespace

void Transfer::add(comm::Request request, std::initializer_list<at::Tensor> keep) {
  requests.push_back(std::move(request));
  for (const at::Tensor& one : keep)
    if (one.defined()) keeps.push_back(one);
}

void Transfer::append(Transfer other) {
  for (Ending& ending : other.endings) {
    ending.first += requests.size();
    endings.push_back(std::move(ending));
  }
  const auto move_to = [](auto& from, auto& to) { std::move(from.begin(), from.end(), std::back_inserter(to)); };
  move_to(other.requests, requests);
  move_to(other.keeps, keeps);
  move_to(other.results, results);
}

comm::Buffer values_of(const at::Tensor& tensor) {
  return row_of(tensor, tensor.numel());
}

at::Tensor readable(const at::Tensor& tensor) {
  if (tensor.layout() != at::kStrided) throw Error::bad_input("only all_reduce takes sparse tensors");
  return parallel::travels_as_it_is(tensor) ? tensor.contiguous() : tensor.cpu().contiguous();
}

at::Tensor writable(const at::Tensor& tensor, Transfer& transfer) {
  if (tensor.layout() != at::kStrided) throw Error::bad_input("only all_reduce takes sparse tensors");
  if (usable_as_it_is(tensor)) return tensor;
  const at::Tensor memory = row_memory({tensor}).view(tensor.sizes());
  transfer.at_end([tensor, memory](Transfer::Handles) { tensor.copy_(memory); });
  return memory;
}

Row joined(const std::vector<at::Tensor>& tensors) {
  check_alike(tensors);
  if (lie_in_a_row(tensors)) return {{}, row_of(tensors.front(), elements_of(tensors))};
  const at::Tensor memory = row_memory(tensors);
  std::int64_t at = 0;
  for (const at::Tensor& one : tensors) {
    memory.narrow(0, at, one.numel()).view(one.sizes()).copy_(one);
    at += one.numel();
  }
  return {memory, values_of(memory)};
}

Row joined_results(const std::vector<at::Tensor>& tensors, Transfer& transfer) {
  check_alike(tensors);
  if (lie_in_a_row(tensors)) return {{}, row_of(tensors.front(), elements_of(tensors))};
  const at::Tensor memory = row_memory(tensors);
  transfer.at_end([tensors, memory](Transfer::Handles) {
    std::int64_t at = 0;
    for (const at::Tensor& one : tensors) {
      one.copy_(memory.narrow(0, at, one.numel()).view(one.sizes()));
      at += one.numel();
    }
  });
  return {memory, values_of(memory)};
}

}  // namespace ronde::python::c10d_backend
