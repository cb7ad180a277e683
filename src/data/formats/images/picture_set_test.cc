#include <gtest/gtest.h>

#include "ronde/data/testing/records.h"

namespace ronde::data::files {
namespace {

TEST(IdxRecords, PicturesComeWithTheirLabels) {
  const Folder folder;
  folder.write("train-images-idx3-ubyte", idx_file({2, 1, 3}, {1, 2, 3, 4, 5, 6}));
  folder.write("train-labels-idx1-ubyte", idx_file({2}, {7, 61}));
  folder.write("t10k-images-idx3-ubyte", idx_file({1, 1, 3}, {9, 9, 9}));
  folder.write("t10k-labels-idx1-ubyte", idx_file({1}, {1}));
  const auto records = open_records({.path = folder.path()});
  ASSERT_EQ(records->size(), 2);
  EXPECT_TRUE(same(records->read(1).at("image"), array_of<std::uint8_t>({1, 3, 1}, {4, 5, 6})));
  EXPECT_EQ(class_of(records->read(1)), 61);
  EXPECT_EQ(records->where(1), folder.text() + "/train-images-idx3-ubyte at byte 19");
  EXPECT_EQ(open_records({.path = folder.path() / "t10k-images-idx3-ubyte"})->size(), 1);
  for (const char* name : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"})
    EXPECT_EQ(check_cuts(folder.path() / name, {.path = folder.path()}), "");
  write_text(folder.path() / "classes.txt", "a\nb\n");
  EXPECT_NE(first_error({.path = folder.path()}).find("class is 7, but there are 2 classes"), std::string::npos);
}

TEST(CifarRecords, ChannelsArePutTogether) {
  const Folder folder;
  std::vector<std::uint8_t> file(2 * 3073, 5);
  file[0] = 3;
  for (std::size_t i = 0; i < 3072; ++i)
    file[1 + i] = static_cast<std::uint8_t>(i / 1024 * 50 + (i % 1024 == 33 ? 1 : 0));
  folder.write("test_batch.bin", file);
  const auto path = folder.path() / "test_batch.bin";
  const auto records = open_records({.path = path});
  ASSERT_EQ(records->size(), 2);
  const Sample sample = records->read(0);
  EXPECT_EQ(sample.at("image").shape(), (Shape{32, 32, 3}));
  EXPECT_EQ(sample.at("image").values<std::uint8_t>()[33 * 3 + 2], 101);
  EXPECT_EQ(class_of(sample), 3);
  file[3073] = 10;
  folder.write("test_batch.bin", file);
  EXPECT_EQ(first_error({.path = path}),
            path.string() + ": sample 1 (byte 3073) has label 10, but there are 10 classes, counted from 0");
  file.pop_back();
  folder.write("test_batch.bin", file);
  EXPECT_NE(first_error({.path = path}).find("the file ends at byte 6145, inside record 1"), std::string::npos);
  folder.write("data_batch_1.bin", std::vector<std::uint8_t>(3073));
  EXPECT_NE(first_error({.path = folder.path()}).find("data_batch_2.bin is missing"), std::string::npos);
}

TEST(CifarRecords, AHundredClassesHaveTwoLabelsEach) {
  const Folder folder;
  std::vector<std::uint8_t> file(3074, 1);
  file[1] = 77;
  folder.write("train.bin", file);
  EXPECT_EQ(class_of(open_records({.path = folder.path()})->read(0)), 77);
}

TEST(RealRecords, MnistAndCifarAreWhatTheyAre) {
  const std::filesystem::path data = RONDE_TEST_DATA;
  if (!std::filesystem::exists(data / "mnist")) GTEST_SKIP() << "no MNIST in " << data;
  const auto mnist = open_records({.path = data / "mnist" / "t10k-images-idx3-ubyte.gz"});
  EXPECT_EQ(mnist->size(), 10000);
  EXPECT_EQ(class_of(mnist->read(0)), 7);
  const auto cifar = open_records({.path = data / "cifar-10-batches-bin" / "test_batch.bin"});
  EXPECT_EQ(class_of(cifar->read(0)), 3);
}

}  // namespace
}  // namespace ronde::data::files
