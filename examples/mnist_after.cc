// Handwritten digits with libtorch, on many ranks: mnist_before.cc and the lines marked 1 to 6.
//   ronde run -n 2 mnist_after FOLDER [EPOCHS]
#include <cstdio>
#include <cstdlib>

#include <torch/torch.h>

#include "ronde/parallel/collectives.h"
#include "ronde/parallel/distributed_optimizer.h"
#include "ronde/train/session.h"

namespace {

using torch::Tensor;

struct NetImpl : torch::nn::Module {
  NetImpl() {
    layers->push_back(torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 16, 5).padding(2)));
    layers->push_back(torch::nn::ReLU());
    layers->push_back(torch::nn::MaxPool2d(2));
    layers->push_back(torch::nn::Conv2d(torch::nn::Conv2dOptions(16, 32, 5).padding(2)));
    layers->push_back(torch::nn::ReLU());
    layers->push_back(torch::nn::MaxPool2d(2));
    layers->push_back(torch::nn::Flatten());
    layers->push_back(torch::nn::Linear(32 * 7 * 7, 10));
    register_module("layers", layers);
  }
  Tensor forward(const Tensor& images) { return layers->forward(images); }
  torch::nn::Sequential layers;
};
TORCH_MODULE(Net);

auto mnist(const char* folder, bool train) {
  using torch::data::datasets::MNIST;
  return MNIST(folder, train ? MNIST::Mode::kTrain : MNIST::Mode::kTest)
      .map(torch::data::transforms::Normalize<>(0.1307, 0.3081))
      .map(torch::data::transforms::Stack<>());
}

double accuracy(Net& net, const char* folder, const ronde::Session& session) {
  torch::NoGradGuard no_grad;
  auto loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(mnist(folder, false), 500);
  double right = 0, all = 0;
  int number = 0;
  for (auto& batch : *loader) {
    if (number++ % session.size() != session.rank()) continue;  // 5: share the test, each batch on one rank
    right += (net->forward(batch.data).argmax(1) == batch.target).sum().item<double>();
    all += static_cast<double>(batch.target.size(0));
  }
  right = ronde::average(right, session.world());  // 5: of all ranks together
  all = ronde::average(all, session.world());
  return right / all;
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) return std::fprintf(stderr, "usage: mnist_after FOLDER [EPOCHS]\n"), 2;
  const int epochs = count > 2 ? std::atoi(words[2]) : 2;
  ronde::Session session;  // 1: meet the other ranks
  torch::manual_seed(1);

  Net net;
  torch::optim::SGD sgd(net->parameters(), torch::optim::SGDOptions(0.02).momentum(0.9));
  ronde::DistributedOptimizer optimizer(sgd, ronde::parallel::named(*net), session.world());  // 2: share gradients
  ronde::broadcast_parameters(*net, session.world());                                         // 3: begin alike
  auto samples = mnist(words[1], true);
  torch::data::samplers::DistributedRandomSampler sampler(*samples.size(), static_cast<std::size_t>(session.size()),
                                                          static_cast<std::size_t>(session.rank()));  // 4: share data
  auto loader = torch::data::make_data_loader(std::move(samples), sampler, 64 / session.size());

  for (int epoch = 0; epoch < epochs; ++epoch) {
    sampler.set_epoch(static_cast<std::size_t>(epoch));
    for (auto& batch : *loader) {
      optimizer.zero_grad();
      torch::cross_entropy_loss(net->forward(batch.data), batch.target).backward();
      optimizer.step();
    }
    const double reached = accuracy(net, words[1], session);
    if (session.rank() == 0) std::printf("epoch %d: accuracy %.4f\n", epoch + 1, reached);
  }
  if (session.rank() == 0) torch::save(net, "mnist.pt");  // 6: save once
}
