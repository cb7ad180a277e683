#include "ronde/train/loop/training_task.h"
#include "ronde/base/settings/settings.h"

#include <functional>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"
#include "ronde/comm/thread_job.h"
#include "ronde/data/dataset.h"
#include "ronde/models/weights.h"
#include "ronde/train/evaluate.h"
#include "ronde/train/loop/learner.h"

namespace ronde::train {
namespace {

using Texts = std::map<std::string, std::string>;

Settings settings_of(const Texts& changes) {
  Settings settings;
  settings.set("train.device", "cpu", "test");
  const Texts tiny = {{"data.resolution", "16"}, {"data.samples", "60"}, {"data.test_samples", "25"},
                      {"data.classes", "4"},     {"model.name", "mlp"},  {"memory.arena", "false"}};
  for (const auto& [key, text] : tiny) settings.set(key, text, "test");
  for (const auto& [key, text] : changes) settings.set(key, text, "test");
  return settings;
}

// On so many ranks as threads. Throws what the lowest rank threw.
void on_ranks(int ranks, const Texts& changes, const std::function<void(const Session&)>& body) {
  torch::set_num_threads(1);
  comm::ThreadJob job(ranks);
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(ranks));
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        try {
          body(Session(job.engine(rank), settings_of(changes)));
        } catch (...) {
          failures[static_cast<std::size_t>(rank)] = std::current_exception();
        }
      });
  }
  for (const auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

std::string failure_of(const Texts& changes, const std::function<void(const Session&)>& body) {
  try {
    on_ranks(1, changes, body);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    return error.message();
  }
  return "";
}
void only_make(const Session& session) {
  make_task(session);
}

struct Fit {
  std::string target, model;
  std::vector<std::int64_t> targets;  // their shape, for 10 samples
};
const Fit kFits[] = {{"class", "mlp", {10}},
                     {"labels", "mlp", {10, 4}},
                     {"mask", "unet", {10, 16, 16}},
                     {"input", "autoencoder", {10, 1, 16, 16}}};

TEST(Task, SamplesLossAndNetworkFitTheTarget) {
  for (const Fit& fit : kFits) {
    const Texts changes = {{"data.target", fit.target}, {"model.name", fit.model}, {"model.filters", "0"}};
    on_ranks(1, changes, [&](const Session& session) {
      const Task task = make_task(session);
      const auto batch = (data::from_source(*task.samples) | data::batch(12)).open().next_batch();
      const Samples part = samples_of(*batch, {2, 12}, task, torch::kCPU);
      EXPECT_EQ(part.targets.sizes(), torch::IntArrayRef(fit.targets)) << fit.target;
      const auto all = samples_of(*batch, {0, 12}, task, torch::kCPU);
      EXPECT_TRUE(part.targets.equal(all.targets.slice(0, 2))) << "a part begins where it should";
      const torch::Tensor loss = task.loss(task.network->forward(part.inputs), part.targets);
      EXPECT_TRUE(std::isfinite(loss.item<double>())) << fit.target;
    });
  }
}

TEST(Task, ANetworkThatGivesSomethingElseIsRefused) {
  EXPECT_EQ(failure_of({{"model.name", "unet"}}, only_make),
            "model.name = unet gives [4, 16, 16] numbers per sample, but data.target = class needs [4]");
  EXPECT_EQ(failure_of({{"data.target", "mask"}}, only_make),
            "model.name = mlp gives [5] numbers per sample, but data.target = mask needs [5, 16, 16]");
  EXPECT_EQ(failure_of({{"data.target", "input"}, {"model.name", "autoencoder"}, {"train.label_smoothing", "0.1"}},
                       only_make),
            "train.label_smoothing is 0.1, but data.target = input has no labels to smooth");
}

TEST(Task, PlainLossIsAnotherOnlyWhereLabelsAreSmoothed) {
  on_ranks(1, {}, [](const Session& session) { EXPECT_FALSE(make_task(session).smoothed); });
  on_ranks(1, {{"train.label_smoothing", "0.1"}}, [](const Session& session) {
    const Task task = make_task(session);
    EXPECT_TRUE(task.smoothed);
    const torch::Tensor outputs = torch::tensor({{2.0, 0.0, 0.0, 0.0}}), targets = torch::tensor({0});
    EXPECT_GT(task.loss(outputs, targets).item<double>(), task.plain_loss(outputs, targets).item<double>());
  });
}

TEST(Task, FiltersAndBiasesAreThoseOfTheSettings) {
  on_ranks(1, {{"model.name", "resnet20"}, {"model.filters", "4"}, {"model.conv_bias", "true"}},
           [](const Session& session) {
             const auto parameters = make_task(session).network->named_parameters();
             EXPECT_EQ(parameters["conv1.weight"].size(0), 4);
             EXPECT_TRUE(parameters.contains("conv1.bias"));
           });
  EXPECT_EQ(failure_of({{"model.filters", "4"}}, only_make), "model mlp does not support model.filters = 4");
}

TEST(Task, HasValidationWhereSharesSaySo) {
  on_ranks(1, {{"data.split", "60/20/20"}}, [](const Session& session) {
    const Task task = make_task(session);
    EXPECT_EQ(task.samples->size(), 36);
    EXPECT_EQ(task.validation->size(), 12);
    EXPECT_EQ(task.held_out->size(), 12);
    EXPECT_EQ(&task.after_epochs(), task.validation.get());
  });
  on_ranks(1, {}, [](const Session& session) {
    const Task task = make_task(session);
    EXPECT_EQ(task.validation, nullptr);
    EXPECT_EQ(&task.after_epochs(), task.held_out.get());
  });
  EXPECT_NE(failure_of({{"data.split", "60/20"}}, only_make), "");
}

TEST(Task, AllRanksBeginWithTheWeightsOfTheFile) {
  const ronde::tests::Folder folder;
  const std::string file = (folder.path() / "weights.safetensors").string();
  torch::Tensor expected;
  on_ranks(1, {}, [&](const Session& session) {
    const Task task = make_task(session);
    torch::NoGradGuard no_grad;
    for (torch::Tensor& parameter : task.network->parameters()) parameter.uniform_(5, 6);
    models::save_weights(*task.network, file);
    expected = task.network->parameters()[0].clone();
  });
  on_ranks(2, {{"model.weights", file}}, [&](const Session& session) {
    Task task = make_task(session);
    const Learner learner(session, task);
    EXPECT_TRUE(task.network->parameters()[0].equal(expected)) << session.rank();
  });
  on_ranks(2, {{"model.weights", file}, {"data.classes", "7"}}, [&](const Session& session) {
    Task task = make_task(session);
    const Learner learner(session, task);
    EXPECT_TRUE(task.network->parameters()[0].equal(expected)) << "fine-tuning: all but the head";
    EXPECT_EQ(task.network->parameters().back().size(0), 7);
    EXPECT_LT(task.network->parameters().back().abs().max().item<float>(), 5);
  });
  const auto load = [](const Session& session) {
    Task task = make_task(session);
    load_first_weights(session, task);
  };
  EXPECT_EQ(failure_of({{"model.weights", "/nowhere/w"}}, load), "model.weights: /nowhere/w does not exist");
  const std::string other = failure_of({{"model.weights", file}, {"model.name", "lenet"}}, load);
  EXPECT_NE(other.find("weights.safetensors"), std::string::npos) << other;
  EXPECT_NE(other.find("conv1.weight"), std::string::npos) << other;
}

// A network without norms gives the same numbers whatever the batch, up to their last bits: counts of what is above or
// below are the same.
TEST(Evaluate, GivesTheSameOnAnyNumberOfRanks) {
  const ronde::tests::Folder folder;
  const std::string file = (folder.path() / "weights.safetensors").string();
  for (const Fit& fit : kFits) {
    const Texts changes = {{"data.target", fit.target}, {"model.name", fit.model}, {"model.norm", "none"}};
    on_ranks(1, changes, [&](const Session& session) { models::save_weights(*make_task(session).network, file); });
    std::vector<Evaluation> found(4);
    for (int ranks = 1; ranks <= 4; ++ranks)
      on_ranks(ranks, changes, [&](const Session& session) {
        const Task task = make_task(session);
        models::load_weights(*task.network, file);
        const Evaluation mine = evaluate(session, task, *task.held_out, 7);
        if (session.rank() == 0) found[static_cast<std::size_t>(ranks - 1)] = mine;
      });
    for (const Evaluation& other : found) {
      EXPECT_EQ(other.score.samples, 25);
      EXPECT_NEAR(other.score.loss, found[0].score.loss, 1e-3) << fit.target;
      EXPECT_EQ(other.score.top1, found[0].score.top1);
      EXPECT_EQ(other.classes, found[0].classes) << fit.target;
      EXPECT_EQ(other.average_precision.mean, found[0].average_precision.mean);
    }
  }
}

}  // namespace
}  // namespace ronde::train
