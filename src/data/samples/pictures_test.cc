#include "ronde/data/samples/pictures.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "ronde/data/formats/images/idx_source.h"
#include "ronde/data/testing/folder.h"
#include "ronde/data/testing/sample.h"

namespace ronde::data::detail {
namespace {

using Content = std::vector<std::uint8_t>;

// --- IDX

struct Mnist : testing::Test {
  void write(const Content& pictures, const Content& labels) {
    folder.write("train-images-idx3-ubyte", pictures);
    folder.write("train-labels.idx1-ubyte", labels);
  }
  std::string failure(std::int64_t samples = 0) {
    return message_of([&] { (void)open_source({.name = "mnist", .path = folder.text(), .samples = samples}); });
  }
  std::string file(const std::string& name) const { return (folder.path() / name).string(); }
  const Folder folder;
};

TEST_F(Mnist, ReadsAndNormalises) {
  write(idx_file({2, 2, 3}, {0, 255, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6}), idx_file({2}, {7, 9}));
  const auto source = open_source({.name = "mnist", .path = folder.text(), .augment = true});
  EXPECT_EQ(source->kind(), (SampleKind{.channels = 1, .height = 2, .width = 3, .classes = 10}));
  const FilledSample first = sample_of(*source, 0, 5), second = sample_of(*source, 1, 5);
  EXPECT_EQ(first.classes, std::vector<std::int64_t>{7});
  EXPECT_NEAR(first.features[0], -0.1307 / 0.3081, 1e-6);
  EXPECT_NEAR(first.features[1], (1 - 0.1307) / 0.3081, 1e-6);
  EXPECT_EQ(second.classes, std::vector<std::int64_t>{9});
  EXPECT_NEAR(second.features[5], (6 / 255.0 - 0.1307) / 0.3081, 1e-6);
}

TEST_F(Mnist, CanBeItsOwnTarget) {
  write(idx_file({1, 1, 2}, {0, 255}), idx_file({1}, {7}));
  const auto source = open_source({.name = "mnist", .path = folder.text(), .target = Target::Input});
  EXPECT_EQ(source->kind().target, Target::Input);
  const FilledSample sample = sample_of(*source, 0);
  EXPECT_NEAR(sample.features[1], (1 - 0.1307) / 0.3081, 1e-6);
  EXPECT_TRUE(sample.classes.empty() && sample.flags.empty());
}

TEST_F(Mnist, ErrorsNameFileAndPlace) {
  const Content two = idx_file({2, 1, 1}, {1, 2}), labels = idx_file({2}, {0, 1});
  const std::string pictures_file = file("train-images-idx3-ubyte"), labels_file = file("train-labels.idx1-ubyte");
  write(two, idx_file({2}, {3, 12}));
  EXPECT_EQ(failure(), labels_file + ": sample 1 (byte 9) has label 12, but there are 10 classes, counted from 0");
  write({two.begin(), two.end() - 1}, labels);
  EXPECT_EQ(failure(), pictures_file + ": the file ends at byte 17, but its header announces 18 bytes");
  write({two.begin(), two.begin() + 9}, labels);
  EXPECT_EQ(failure(), pictures_file + ": the file ends at byte 9, inside its header of 16 bytes");
  write(two, idx_file({3}, {0, 1, 2}));
  EXPECT_EQ(failure(), pictures_file + " holds 2 pictures, but " + labels_file + " holds 3 labels");
  write(two, two);
  EXPECT_EQ(failure(),
            labels_file + ": byte 0: expected an IDX file of bytes in 1 dimensions (00 00 08 01), got 00 00 08 03");
  write(two, labels);
  EXPECT_EQ(failure(3), "'mnist' in " + folder.text() + " has 2 samples for training, but 3 were requested");
  EXPECT_EQ(failure(2), "");
}

TEST(Idx, RefusesSizesThatOverflow) {
  const Content huge = idx_file({-1, -1, -1}, {});
  EXPECT_EQ(message_of([&] { parse_idx(huge, 3, "x"); }),
            "x: byte 8: the sizes in the header are too large for a file");
  EXPECT_EQ(message_of([&] { parse_idx(idx_file({0, 2, 2}, {}), 3, "x"); }), "x: byte 4: dimension 0 is 0");
}

// --- CIFAR

struct Cifar : testing::Test {
  static Content record(std::uint8_t label, std::uint8_t value) {
    Content bytes(3073, value);
    bytes[0] = label;
    bytes[3] = 255;  // red, row 0, column 2
    return bytes;
  }
  void write(int number, const std::vector<Content>& records) {
    Content all;
    for (const auto& one : records) all.insert(all.end(), one.begin(), one.end());
    folder.write("data_batch_" + std::to_string(number) + ".bin", all);
  }
  void write_all() {
    for (int i = 1; i <= 5; ++i) write(i, {record(static_cast<std::uint8_t>(i), 0), record(0, 128)});
  }
  std::unique_ptr<Source> open(bool augment = false) {
    return open_source({.name = "cifar10", .path = folder.text(), .seed = 4, .augment = augment});
  }
  const Folder folder;
};

TEST_F(Cifar, ReadsAllFilesInOrder) {
  write_all();
  const auto source = open();
  ASSERT_EQ(source->size(), 10);
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < 10; ++i) labels.push_back(sample_of(*source, i).classes[0]);
  const std::vector<float> values = sample_of(*source, 9).features;
  EXPECT_EQ(labels, (std::vector<std::int64_t>{1, 0, 2, 0, 3, 0, 4, 0, 5, 0}));
  EXPECT_NEAR(values[2], (1 - 0.4914) / 0.2470, 1e-5);
  EXPECT_NEAR(values[0], (128 / 255.0 - 0.4914) / 0.2470, 1e-5);
  EXPECT_NEAR(values[3071], (128 / 255.0 - 0.4465) / 0.2616, 1e-5);
}

TEST_F(Cifar, ErrorsNameFileAndPlace) {
  write_all();
  write(3, {record(1, 0), record(10, 0)});
  const std::string file = (folder.path() / "data_batch_3.bin").string();
  EXPECT_EQ(message_of([&] { open(); }),
            file + ": sample 1 (byte 3073) has label 10, but there are 10 classes, counted from 0");
  Content cut = record(1, 0);
  cut.resize(3000);
  write(3, {record(1, 0), cut});
  EXPECT_EQ(message_of([&] { open(); }),
            file + ": the file ends at byte 6073, inside record 1; records have 3073 bytes");
  write(3, {});
  EXPECT_EQ(message_of([&] { open(); }), file + ": the file ends at byte 0, inside record 0; records have 3073 bytes");
}

// --- augmentation

TEST_F(Cifar, ChangesDependOnSeedEpochAndSampleAlone) {
  write_all();
  const auto source = open(true), again = open(true);
  int different = 0;
  for (std::int64_t epoch = 0; epoch < 10; ++epoch) {
    const FilledSample sample = sample_of(*source, 1, epoch);
    sample_of(*again, 7, epoch);  // something in between
    EXPECT_EQ(sample, sample_of(*again, 1, epoch));
    different += sample != sample_of(*again, 1, epoch + 1);
  }
  EXPECT_GT(different, 5);
}

TEST_F(Cifar, APictureIsShiftedAndMirroredAsTheChangeSays) {
  write_all();
  const auto source = open(true);
  for (std::int64_t epoch = 0; epoch < 50; ++epoch) {
    const std::vector<float> values = sample_of(*source, 1, epoch).features;  // one bright pixel at (2, 0) on grey
    const Change change = change_of(4, epoch, 1);
    const int x = (change.mirror ? 31 - 2 : 2) + change.right, y = change.down;
    for (int row = 0; row < 32; ++row) {
      for (int column = 0; column < 32; ++column) {
        const bool outside =
            row < change.down || row >= 32 + change.down || column < change.right || column >= 32 + change.right;
        const float grey = (128 / 255.0f - 0.4914f) / 0.2470f, bright = (1 - 0.4914f) / 0.2470f;
        const float expected = outside ? 0 : row == y && column == x ? bright : grey;
        ASSERT_NEAR(values[static_cast<std::size_t>(32 * row + column)], expected, 1e-5);
      }
    }
  }
}

TEST_F(Cifar, IsNotMirroredWhereNobodyWantsIt) {
  write_all();
  const auto source =
      open_source({.name = "cifar10", .path = folder.text(), .seed = 4, .augment = true, .picture = {.flip = false}});
  int mirrored = 0;
  for (std::int64_t epoch = 0; epoch < 50; ++epoch) {
    const Change change = change_of(4, epoch, 1);
    mirrored += change.mirror;
    if (change.down != 0 || change.right < -2) continue;
    const auto bright = static_cast<std::size_t>(2 + change.right);
    EXPECT_NEAR(sample_of(*source, 1, epoch).features[bright], (1 - 0.4914f) / 0.2470f, 1e-5);
  }
  EXPECT_GT(mirrored, 0) << "with the same shifts as ever";
}

TEST_F(Cifar, IsNormalisedAsSomebodyAsks) {
  write_all();
  const auto with = [&](const std::string& normalize) {
    const auto source = open_source({.name = "cifar10", .path = folder.text(), .normalize = normalize});
    return sample_of(*source, 9).features;
  };
  EXPECT_NEAR(with("unit")[0], 128 / 255.0, 1e-6);
  EXPECT_NEAR(with("0.5,0.4,0.3/0.5,0.2,0.1")[3071], (128 / 255.0 - 0.3) / 0.1, 1e-5);
  EXPECT_NEAR(with("")[0], (128 / 255.0 - 0.4914) / 0.2470, 1e-5);
  EXPECT_EQ(message_of([&] { with("0.5,0.5/1,1"); }), "data.normalize = 0.5,0.5/1,1: 2 numbers for 3 channels");
}

TEST(Change, TakesAllShiftsAndBothSides) {
  std::set<std::tuple<int, int, bool>> seen;
  for (std::int64_t sample = 0; sample < 5000; ++sample) {
    const Change change = change_of(1, 2, sample);
    EXPECT_LE(std::max(std::abs(change.right), std::abs(change.down)), 4);
    seen.insert({change.right, change.down, change.mirror});
  }
  EXPECT_EQ(seen.size(), 9u * 9 * 2);
}

}  // namespace
}  // namespace ronde::data::detail
