#pragma once

#include <string>
#include <vector>

#include <torch/torch.h>

#include "ronde/comm/group.h"
#include "ronde/parallel/distributed_optimizer.h"

// What ranks do together with tensors, besides gradients. Every rank of the group calls the same, in the same order.
// Everything here waits until it is done. FAILS WITH: as Handle::wait().
namespace ronde::parallel {

// Everyone has the root's values from now on; tensors have the same names and shapes on all ranks.
void broadcast_tensors(const NamedTensors& tensors, const comm::Group& group, int root = 0);
// Parameters and buffers.
void broadcast_parameters(const torch::nn::Module& module, const comm::Group& group, int root = 0);
void broadcast_buffers(const torch::nn::Module& module, const comm::Group& group, int root = 0);
// Everyone has the means over all ranks from now on. REQUIRES: tensors of floating-point numbers.
void average_tensors(const NamedTensors& tensors, const comm::Group& group);
// What the optimizer has gathered so far, and its options (learning rate, ...). All ranks have the same kind of
// optimizer, with the same parameters in the same order.
void broadcast_optimizer(torch::optim::Optimizer& optimizer, const comm::Group& group, int root = 0);

std::string broadcast_text(std::string text, const comm::Group& group, int root = 0);
std::vector<std::string> gather_texts(const std::string& mine, const comm::Group& group);  // by member

// The mean over ranks, such as that of a loss; a new tensor without history.
torch::Tensor average(const torch::Tensor& tensor, const comm::Group& group);
double average(double value, const comm::Group& group);

}  // namespace ronde::parallel

namespace ronde {
using parallel::average;
using parallel::broadcast_optimizer;
using parallel::broadcast_parameters;
}  // namespace ronde
