#include "ronde/models/weights.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"
#include "ronde/models/model.h"
#include "ronde/models/safetensors.h"

namespace ronde::models {
namespace {

const std::filesystem::path kGolden = RONDE_GOLDEN_DIR;

// Weights, an input and its output that Python's torch has written.
TEST(Weights, ForwardAgreesWithPython) {
  for (const std::string name : {"resnet18", "resnet50"}) {
    for (const bool channels_last : {false, true}) {
      const auto network = make_model({.name = name, .height = 64, .width = 64, .filters = 4});
      if (channels_last) to_channels_last(*network);
      load_weights(*network, kGolden / (name + ".safetensors"));
      network->eval();
      const TensorMap golden = read_safetensors(kGolden / (name + "-forward.safetensors")).tensors;
      const torch::Tensor output = network->forward(golden.at("input"));
      EXPECT_LT((output - golden.at("output")).abs().max().item<double>(), 1e-5) << name;
      EXPECT_GT(golden.at("output").std().item<double>(), 0.1);  // it says something
    }
  }
}

class SavedWeights : public testing::Test {
 protected:
  std::string failure(torch::nn::Module& network) const {
    try {
      load_weights(network, file_);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::BadInput);
      return std::string(error.what()).substr(file_.string().size() + 1);
    }
    return "";
  }
  const ronde::tests::Folder folder_;
  const std::filesystem::path file_ = folder_.path() / "x.safetensors";
};

TEST_F(SavedWeights, ComeBack) {
  const auto one = make_model({.name = "resnet20"}), other = make_model({.name = "resnet20"});
  one->forward(torch::randn({2, 3, 32, 32}));  // moves the running averages
  save_weights(*one, file_);
  load_weights(*other, file_);
  const TensorMap loaded = state_of(*other);
  for (const auto& [name, tensor] : state_of(*one)) EXPECT_TRUE(tensor.equal(loaded.at(name))) << name;
}

TEST_F(SavedWeights, OldFilesHaveNoCounters) {
  const auto network = make_model({.name = "resnet20"});
  TensorMap state = state_of(*network);
  std::erase_if(state, [](const auto& item) { return item.first.ends_with("num_batches_tracked"); });
  write_safetensors({.tensors = state}, file_);
  EXPECT_EQ(failure(*network), "");
}

TEST_F(SavedWeights, OfAnotherModelSayWhichTensorsDiffer) {
  save_weights(*make_model({.name = "mlp", .classes = 10}), file_);
  const auto other = make_model({.name = "mlp", .classes = 12});
  const torch::Tensor before = other->parameters()[0].clone();
  EXPECT_EQ(failure(*other),
            "does not match this model: of its tensors, 2 have another shape (fc3.bias [10] instead of [12], "
            "fc3.weight [10, 512] instead of [12, 512])");
  EXPECT_TRUE(other->parameters()[0].equal(before));
  EXPECT_EQ(
      failure(*make_model({.name = "lenet"})),
      "does not match this model: of its tensors, 4 are missing (conv1.bias, conv1.weight, conv2.bias, conv2.weight), "
      "2 are unknown (fc3.bias, fc3.weight), 4 have another shape (fc1.bias [512] instead of [500], fc1.weight [512, "
      "3072] instead of [500, 1250], fc2.bias [512] instead of [10], fc2.weight [512, 512] instead of [10, 500])");
}

TEST(Differences, NamesAFewAndCountsTheRest) {
  TensorMap many;
  for (char c = 'a'; c < 'g'; ++c) many[std::string(1, c)] = torch::empty({1});
  EXPECT_EQ(differences(many, {}), "6 are missing (a, b, c, d, and 2 more)");
  EXPECT_EQ(differences({}, {{"x", torch::empty({1})}}), "1 is unknown (x)");
  EXPECT_EQ(differences(many, many), "");
}

}  // namespace
}  // namespace ronde::models
