#include "ronde/data/source.h"
#include "ronde/base/settings/settings.h"

#include <array>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "ronde/base/settings/environment.h"
#include "ronde/data/settings.h"
#include "ronde/data/testing/folder.h"
#include "ronde/data/testing/sample.h"
#include "ronde/data/training/preparation.h"

namespace ronde::data {
namespace {

std::string failure_of(const SourceOptions& options) {
  return message_of([&] { (void)open_source(options); });
}

TEST(OpenSource, SuggestsWhatWasMeant) {
  EXPECT_EQ(failure_of({.name = "mnits"}), "unknown data set 'mnits'; did you mean mnist?");
  EXPECT_EQ(failure_of({.name = "imagenet"}),
            "unknown data set 'imagenet'; choose one of glyphs, text, mnist, cifar10, random, pack, tar, "
            "bigearthnet, tfrecord, lmdb, hdf5, csv, npy, images");
}

TEST(OpenSource, SaysWhichFilesItLookedForAndWhere) {
  const Folder folder;
  EXPECT_EQ(failure_of({.name = "mnist", .path = folder.text()}),
            "cannot find 'mnist' in " + folder.text() +
                ": the folder holds no train-images-idx3-ubyte or train-images.idx3-ubyte (nor one ending in .gz); set "
                "data.path to the folder that holds its files");
  EXPECT_EQ(failure_of({.name = "cifar10", .path = "/nowhere", .split = Split::Test}),
            "cannot find 'cifar10' in /nowhere: there is no folder with test_batch.bin (nor one ending in .gz); set "
            "data.path to the folder that holds its files");
  EXPECT_EQ(failure_of({.name = "mnist"}),
            "'mnist' is read from files: set data.path to the folder that holds them (train-images-idx3-ubyte, ...)");
}

TEST(OpenSource, RefusesWhatCannotBe) {
  EXPECT_NE(failure_of({.samples = -1}), "");
  EXPECT_NE(failure_of({.classes = 1}), "");
  EXPECT_NE(failure_of({.channels = 0}), "");
  EXPECT_NE(failure_of({.resolution = 0}), "");
  EXPECT_NE(failure_of({.channels = 1'000'000, .resolution = 4096}), "");
}

TEST(Generated, SizesAreWhatIsUsualUnlessSaid) {
  for (const char* name : {"glyphs", "random"}) {
    EXPECT_EQ(open_source({.name = name})->size(), 20'000);
    EXPECT_EQ(open_source({.name = name, .split = Split::Test})->size(), 2'000);
    const auto source = open_source({.name = name, .samples = 5, .classes = 3, .channels = 2, .resolution = 9});
    EXPECT_EQ(source->size(), 5);
    EXPECT_EQ(source->kind(), (SampleKind{.channels = 2, .height = 9, .width = 9, .classes = 3}));
  }
}

// Who asks for nothing gets what is usual for the source.
TEST(SourceOptionsOfSettings, NormalisationIsThatOfTheSourceUnlessSomebodyHasSetIt) {
  const auto normalize = [](const std::string& name, std::initializer_list<Settings::Flag> flags) {
    return source_options(Settings::load(Environment{}, flags), Environment{}, name).normalize;
  };
  EXPECT_EQ(normalize("mnist", {}), "");
  EXPECT_EQ(normalize("cifar10", {{"data.normalize", "unit"}}), "unit");
  EXPECT_EQ(normalize("images", {}), "imagenet");
}

TEST(OpenSource, KnowsWhatBecomesOfItsSamples) {
  const auto of = [](const char* name) { return preparation_of(name, *open_source({.name = name})); };
  EXPECT_EQ(of("glyphs"), Preparation::Drawn);
  EXPECT_EQ(of("random"), Preparation::Drawn);
  EXPECT_EQ(of("text"), Preparation::Text);
}

TEST(OpenSource, RefusesTargetsThatAreNotThere) {
  EXPECT_EQ(failure_of({.name = "mnist", .target = Target::Mask}),
            "'mnist' has no target 'mask'; set data.target to one of class, input");
  EXPECT_EQ(failure_of({.name = "text", .target = Target::Labels}),
            "'text' has no target 'labels'; set data.target to one of class");
}

TEST(Targets, HaveNames) {
  for (const Target target : {Target::Class, Target::Labels, Target::Mask, Target::Input})
    EXPECT_EQ(parse_target(name(target)), target);
  EXPECT_EQ(message_of([] { (void)parse_target("masks"); }),
            "data.target must be class, labels, mask or input, got 'masks'");
}

TEST(RandomSource, IsDeterministicAndFilledOnce) {
  for (const Target target : {Target::Class, Target::Labels, Target::Mask, Target::Input}) {
    const auto source = open_source({.name = "random", .classes = 4, .channels = 3, .resolution = 5, .target = target});
    EXPECT_TRUE(source->filled_once());
    for (std::int64_t i = 0; i < 100; ++i) {
      const FilledSample sample = sample_of(*source, i);
      EXPECT_EQ(sample_of(*source, i, 7), sample);
      for (const std::int64_t label : sample.classes) EXPECT_TRUE(label >= 0 && label < source->kind().classes);
      for (const float flag : sample.flags) EXPECT_TRUE(flag == 0 || flag == 1);
    }
  }
}

// What the files of the project's test data hold, as their publishers describe them.
struct RealData : testing::Test {
  std::unique_ptr<Source> open(SourceOptions options, const std::string& folder) {
    options.path = std::string(RONDE_TEST_DATA) + "/" + folder;
    if (!std::filesystem::exists(options.path)) return nullptr;
    return open_source(options);
  }
  // Mean and deviation of some samples, and how often each class occurs among all.
  void measure(const Source& source) {
    FilledSample sample(source.kind());
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < source.size(); ++i) {
      source.read(i, 0, sample.space());
      ++classes.at(static_cast<std::size_t>(sample.classes[0]));
      for (const float value : sample.features) sum += value, squares += value * value;
    }
    const double count = static_cast<double>(source.size()) * static_cast<double>(sample.features.size());
    mean = sum / count;
    deviation = std::sqrt(squares / count - mean * mean);
  }
  std::array<int, 10> classes{};
  double mean = 0, deviation = 0;
};

TEST_F(RealData, Mnist) {
  const auto train = open({.name = "mnist"}, "mnist");
  if (!train) GTEST_SKIP() << "there is no MNIST in " RONDE_TEST_DATA;
  ASSERT_EQ(train->size(), 60'000);
  measure(*train);
  EXPECT_NEAR(mean, 0, 1e-3);
  EXPECT_NEAR(deviation, 1, 1e-3);
  EXPECT_EQ(classes, (std::array{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}));
  EXPECT_EQ(open({.name = "mnist", .split = Split::Test}, "mnist")->size(), 10'000);
  EXPECT_EQ(open({.name = "mnist", .samples = 100}, "mnist")->size(), 100);
}

TEST_F(RealData, Cifar10) {
  const auto train = open({.name = "cifar10"}, "cifar-10-batches-bin");
  if (!train) GTEST_SKIP() << "there is no CIFAR-10 in " RONDE_TEST_DATA;
  ASSERT_EQ(train->size(), 50'000);
  measure(*train);
  EXPECT_NEAR(mean, 0, 1e-3);
  EXPECT_NEAR(deviation, 1, 1e-3);
  for (const int count : classes) EXPECT_EQ(count, 5'000);
  EXPECT_EQ(open({.name = "cifar10", .split = Split::Test}, "cifar-10-batches-bin")->size(), 10'000);
}

}  // namespace
}  // namespace ronde::data
