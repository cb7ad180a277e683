#include <cstdio>

#include <ronde/parallel/distributed_optimizer.h>
#include <ronde/train/session.h>

int main() {
  ronde::Session session;
  torch::Tensor weight = torch::zeros({1}).requires_grad_();
  torch::optim::SGD sgd({weight}, torch::optim::SGDOptions(1.0));
  ronde::DistributedOptimizer optimizer(sgd, {{"weight", weight}}, session.world());
  (weight * (session.rank() + 1)).sum().backward();
  optimizer.step();
  std::printf("rank %d of %d: %.1f\n", session.rank(), session.size(), weight.item<float>());
}
