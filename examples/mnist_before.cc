// Handwritten digits with libtorch, in one process. mnist_after.cc is the same on many ranks; compare the two.
//   mnist_before FOLDER [EPOCHS]
#include <cstdio>
#include <cstdlib>

#include <torch/torch.h>

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

double accuracy(Net& net, const char* folder) {
  torch::NoGradGuard no_grad;
  auto loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(mnist(folder, false), 500);
  double right = 0, all = 0;
  for (auto& batch : *loader) {
    right += (net->forward(batch.data).argmax(1) == batch.target).sum().item<double>();
    all += static_cast<double>(batch.target.size(0));
  }
  return right / all;
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) return std::fprintf(stderr, "usage: mnist_before FOLDER [EPOCHS]\n"), 2;
  const int epochs = count > 2 ? std::atoi(words[2]) : 2;
  torch::manual_seed(1);

  Net net;
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.02).momentum(0.9));
  auto samples = mnist(words[1], true);
  torch::data::samplers::RandomSampler sampler(static_cast<std::int64_t>(*samples.size()));
  auto loader = torch::data::make_data_loader(std::move(samples), sampler, 64);

  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (auto& batch : *loader) {
      optimizer.zero_grad();
      torch::cross_entropy_loss(net->forward(batch.data), batch.target).backward();
      optimizer.step();
    }
    std::printf("epoch %d: accuracy %.4f\n", epoch + 1, accuracy(net, words[1]));
  }
  torch::save(net, "mnist.pt");
}
