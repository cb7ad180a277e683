#include "ronde/parallel/collectives.h"

#include <cstdint>
#include <cstring>
#include <sstream>

#include "ronde/parallel/tensor_buffer.h"

namespace ronde::parallel {

namespace {

// Runs one request a tensor, all of them together: `like`, with the name and the memory of the tensor.
void run_on(const NamedTensors& tensors, const comm::Group& group, const comm::Request& like) {
  if (group.size() == 1 || tensors.empty()) return;
  torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> travelling;  // the tensor itself, or a copy that can travel
  std::vector<comm::Request> requests;
  for (const auto& [name, tensor] : tensors) {
    const torch::Tensor values = tensor.detach();
    travelling.push_back((travels_as_it_is(values) ? values : values.cpu()).contiguous());
    comm::Request& request = requests.emplace_back(like);
    request.name += name;
    request.input = buffer_of(travelling.back());
    request.stream = stream_of(travelling.back());
  }
  const auto handles = group.submit(std::move(requests));
  for (std::size_t i = 0; i < handles.size(); ++i) {
    handles[i].wait();
    torch::Tensor target = tensors[i].second;
    if (target.data_ptr() != travelling[i].data_ptr()) target.detach().copy_(travelling[i]);
  }
}

}  // namespace

void broadcast_tensors(const NamedTensors& tensors, const comm::Group& group, int root) {
  run_on(tensors, group, {.operation = comm::Operation::Broadcast, .name = "broadcast ", .root = root});
}

void average_tensors(const NamedTensors& tensors, const comm::Group& group) {
  run_on(tensors, group, {.name = "average ", .op = comm::ReduceOp::Average});
}

void broadcast_buffers(const torch::nn::Module& module, const comm::Group& group, int root) {
  NamedTensors all;
  for (const auto& item : module.named_buffers())
    if (item.value().defined()) all.emplace_back(item.key(), item.value());
  broadcast_tensors(all, group, root);
}

void broadcast_parameters(const torch::nn::Module& module, const comm::Group& group, int root) {
  broadcast_tensors(named(module), group, root);
  broadcast_buffers(module, group, root);
}

// torch writes any optimizer to an archive, whatever its state is made of.
void broadcast_optimizer(torch::optim::Optimizer& optimizer, const comm::Group& group, int root) {
  if (group.size() == 1) return;
  std::ostringstream written;
  if (group.rank() == root) torch::save(optimizer, written);
  std::istringstream read(broadcast_text(written.str(), group, root));
  if (group.rank() != root) torch::load(optimizer, read);
}

std::string broadcast_text(std::string text, const comm::Group& group, int root) {
  if (group.size() == 1) return text;
  std::vector<std::int64_t> length{static_cast<std::int64_t>(text.size())};
  group.run({.operation = comm::Operation::Broadcast, .input = comm::buffer_of(length), .root = root});
  text.resize(static_cast<std::size_t>(length[0]));
  if (text.empty()) return text;
  group.run({.operation = comm::Operation::Broadcast,
             .input = {.data = text.data(), .dtype = comm::DType::U8, .shape = {length[0]}},
             .root = root});
  return text;
}

std::vector<std::string> gather_texts(const std::string& mine, const comm::Group& group) {
  std::string copy = mine;
  const auto result = group.run(
      {.operation = comm::Operation::Allgather,
       .input = {.data = copy.data(), .dtype = comm::DType::U8, .shape = {static_cast<std::int64_t>(copy.size())}}});
  std::vector<std::string> texts;
  const auto* next = static_cast<const char*>(result.output.data);
  for (const std::int64_t length : result.splits) {
    texts.emplace_back(next, static_cast<std::size_t>(length));
    next += length;
  }
  return texts;
}

torch::Tensor average(const torch::Tensor& tensor, const comm::Group& group) {
  torch::Tensor mean = tensor.detach().cpu().clone(torch::MemoryFormat::Contiguous);
  if (group.size() > 1) group.run({.input = buffer_of(mean), .op = comm::ReduceOp::Average});
  return mean.to(tensor.device());
}

double average(double value, const comm::Group& group) {
  return average(torch::tensor(value, torch::kFloat64), group).item<double>();
}

}  // namespace ronde::parallel
