#include "ronde/models/torchscript.h"

#include <fstream>

#include <gtest/gtest.h>
#include <torch/script.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"
#include "ronde/models/costs.h"

namespace ronde::models {
namespace {

// A layer inside a module, as torch.jit.script() would save it.
std::string saved_network(const std::filesystem::path& folder, const std::string& body) {
  torch::manual_seed(1);
  torch::jit::Module layer("layer");
  layer.register_parameter("weight", torch::randn({4, 3}), false);
  layer.register_parameter("bias", torch::randn({4}), false);
  layer.register_buffer("seen", torch::zeros({1}));
  layer.define("def forward(self, x):\n  return torch.linear(x, self.weight, self.bias)\n");
  torch::jit::Module network("network");
  network.register_module("fc", layer);
  network.register_attribute("training", c10::BoolType::get(), true);
  network.define("def forward(self, x):\n  " + body + "\n");
  const std::string file = (folder / "net.pt").string();
  network.save(file);
  return file;
}

std::string failure(const std::string& file) {
  try {
    const auto network = make_model({.name = "torchscript:" + file});
    network->forward(torch::ones({2, 3}));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    return error.message();
  }
  return "";
}

TEST(TorchScript, IsANetworkWithTheNamesAndWeightsOfTheFile) {
  const tests::Folder folder;
  const std::string file = saved_network(folder.path(), "return self.fc.forward(x)");
  const auto network = make_model({.name = "torchscript:" + file});
  EXPECT_EQ(network->named_parameters().keys(), (std::vector<std::string>{"fc.weight", "fc.bias"}));
  EXPECT_EQ(network->named_buffers().keys(), std::vector<std::string>{"fc.seen"});
  const torch::Tensor input = torch::ones({2, 3});
  const auto parameters = network->named_parameters();
  const auto expected = [&] { return torch::linear(input, parameters["fc.weight"], parameters["fc.bias"]); };
  EXPECT_TRUE(network->forward(input).equal(expected()));
  {
    const torch::NoGradGuard no_grad;
    for (torch::Tensor& parameter : network->parameters()) parameter.add_(1);
  }
  EXPECT_TRUE(network->forward(input).equal(expected())) << "what an optimizer changes, the module uses";
  network->forward(input).sum().backward();
  EXPECT_TRUE(parameters["fc.weight"].grad().equal(torch::full({4, 3}, 2.0)));
  EXPECT_EQ(total(costs(*network, {3})).flops, 2 * 3 * 4);
}

TEST(TorchScript, RunsAreTheSameFromTheFirstOn) {
  const tests::Folder folder;
  const auto network =
      make_model({.name = "torchscript:" + saved_network(folder.path(), "return self.fc.forward(x).tanh()")});
  const torch::Tensor input = torch::randn({8, 3}), first = network->forward(input);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(network->forward(input).equal(first)) << i;
}

TEST(TorchScript, KnowsWhetherItTrains) {
  const tests::Folder folder;
  const std::string body = "return x + 1 if self.training else x";
  const auto network = make_model({.name = "torchscript:" + saved_network(folder.path(), body)});
  const torch::Tensor input = torch::zeros({1});
  EXPECT_EQ(network->forward(input).item<float>(), 1);
  network->eval();
  EXPECT_EQ(network->forward(input).item<float>(), 0);
}

TEST(TorchScript, SaysWhatIsWrongWithAFile) {
  const tests::Folder folder;
  EXPECT_EQ(failure("/nowhere/net.pt"), "model.name = torchscript:/nowhere/net.pt: /nowhere/net.pt does not exist");
  const auto text = folder.path() / "text.pt";
  std::ofstream(text) << "no module";
  EXPECT_EQ(
      failure(text.string()).find(text.string() + " is not a TorchScript module (as torch.jit.script(net).save()"), 0u);
  const std::string pair = saved_network(folder.path(), "return (x, x)");
  EXPECT_EQ(failure(pair), pair + ": its forward must return one tensor, but returns Tuple");
}

}  // namespace
}  // namespace ronde::models
