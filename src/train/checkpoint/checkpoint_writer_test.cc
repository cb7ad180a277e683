#include "ronde/train/checkpoint/checkpoint_writer.h"

#include <fstream>

#include <gtest/gtest.h>

#include "ronde/train/checkpoint_testing.h"

namespace ronde::train {
namespace {

using tests::expect_equal;
using tests::sample;
namespace fs = std::filesystem;

class Writer : public tests::InFolder {};

TEST_F(Writer, SavesWhatWasThereWhenItWasCalled) {
  CheckpointWriter writer({.checkpoint = {.folder = folder_}});
  const Checkpoint state = sample(1, 3'000'000);
  const Checkpoint expected = sample(1, 3'000'000);
  writer.save(state);
  for (const auto& [name, tensor] : state.model) tensor.fill_(-1);  // training goes on
  for (const auto& [name, tensor] : state.optimizer) tensor.fill_(-1);
  writer.wait();
  EXPECT_FALSE(writer.busy());
  EXPECT_FALSE(writer.take_error());
  ASSERT_TRUE(writer.newest());
  expect_equal(load_checkpoint(*writer.newest()), expected);
}

TEST_F(Writer, WaitsWhenItGoes) {
  {
    CheckpointWriter writer({.checkpoint = {.folder = folder_}});
    writer.save(sample(1, 1'000'000));
    writer.save(sample(2, 1'000'000));
  }
  expect_equal(*load_newest_checkpoint(folder_), sample(2, 1'000'000));
}

TEST_F(Writer, ErrorsWaitUntilTheyAreTaken) {
  std::ofstream(folder_ / "file") << "";
  for (const bool background : {true, false}) {
    CheckpointWriter writer({.checkpoint = {.folder = folder_ / "file"}, .background = background});
    EXPECT_FALSE(writer.take_error());
    writer.save(sample(1));  // does not throw: training goes on
    writer.save(sample(2));
    writer.wait();
    const auto error = writer.take_error();
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), Error::Kind::System);
    EXPECT_NE(std::string(error->what()).find("cannot "), std::string::npos);
    EXPECT_FALSE(writer.take_error());
    EXPECT_FALSE(writer.newest());
  }
}

TEST_F(Writer, AfterAnErrorTheNextOneIsWritten) {
  std::ofstream(folder_ / "place") << "";
  CheckpointWriter writer({.checkpoint = {.folder = folder_ / "place"}});
  writer.save(sample(1));
  writer.wait();
  EXPECT_TRUE(writer.take_error());
  fs::remove(folder_ / "place");
  writer.save(sample(2));
  writer.wait();
  EXPECT_FALSE(writer.take_error());
  expect_equal(load_checkpoint(*writer.newest()), sample(2));
}

}  // namespace
}  // namespace ronde::train
