#include "ronde/data/formats/hdf5/hdf5.h"

#include <thread>

#include <gtest/gtest.h>
#include <hdf5.h>

#include "ronde/data/testing/records.h"
#include "ronde/data/tools/record_writer.h"

namespace ronde::data::files {
namespace {

Sample sample_of(std::int64_t i) {
  Sample sample;
  sample.set("image", Array::bytes_of(std::string(static_cast<std::size_t>(i % 7), 'p') + std::to_string(i)));
  sample.set("class", Array::scalar<std::int64_t>(i % 3));
  sample.set("weights", array_of<float>({2, 2}, {static_cast<float>(i), 1, 2, 3}));
  return sample;
}

void write(const std::filesystem::path& path, std::int64_t samples) {
  const auto writer = make_writer({.path = path, .format = "hdf5", .classes = {"a", "b", "c"}});
  for (std::int64_t i = 0; i < samples; ++i) writer->add(sample_of(i), std::to_string(i));
  writer->finish();
}

// A dataset as other programs make them.
template <class Value>
void add_dataset(const std::filesystem::path& path, const char* name, hid_t type, std::vector<hsize_t> extents,
                 const std::vector<Value>& values, hsize_t chunk = 0) {
  const bool fresh = !std::filesystem::exists(path);
  const hid_t file = fresh ? H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT)
                           : H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  if (chunk > 0) {
    std::vector<hsize_t> chunks = extents;
    chunks[0] = chunk;
    H5Pset_chunk(properties, static_cast<int>(chunks.size()), chunks.data());
    H5Pset_deflate(properties, 4);
  }
  const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  EXPECT_GE(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
  H5Dclose(dataset);
  H5Pclose(properties);
  H5Sclose(space);
  H5Fclose(file);
}

TEST(Hdf5, SamplesComeBackFromAnyThread) {
  const Folder folder;
  const auto path = folder.path() / "a.h5";
  write(path, 200);
  const auto records = open_records({.path = path});
  ASSERT_EQ(records->size(), 200);
  EXPECT_EQ(records->classes(), (std::vector<std::string>{"a", "b", "c"}));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (std::int64_t t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (std::int64_t i = t; i < 200; i += 2) {
        const Sample back = records->read(i), want = sample_of(i);
        for (const auto& [name, array] : want.arrays()) wrong += !same(back.at(name), array);
        wrong += records->bytes(i) < back.bytes();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Hdf5, OtherProgramsFilesAreRead) {
  const Folder folder;
  const auto path = folder.path() / "a.h5";
  std::vector<std::uint8_t> pictures(100 * 12);
  for (std::size_t i = 0; i < pictures.size(); ++i) pictures[i] = static_cast<std::uint8_t>(i * 7);
  add_dataset(path, "images", H5T_NATIVE_UINT8, {100, 2, 6}, pictures, 8);
  std::vector<std::uint32_t> labels(100, 4'000'000'000u);
  labels[99] = 7;
  add_dataset(path, "y", H5T_NATIVE_UINT32, {100}, labels);
  std::vector<double> weights(100, 0.5);
  add_dataset(path, "w", H5T_IEEE_F64BE, {100}, weights);  // written as they lie: read as other numbers
  const auto records = open_records({.path = path});
  const Sample last = records->read(99);
  EXPECT_EQ(last.at("image").shape(), (Shape{2, 6, 1}));
  EXPECT_EQ(last.at("image").values<std::uint8_t>()[11], static_cast<std::uint8_t>(1199 * 7));
  EXPECT_EQ(class_of(last), 7);
  EXPECT_EQ(last.at("w").type(), Type::F64);
  EXPECT_NE(message_of([&] { records->read(0); }).find("class is 4000000000, but classes must be below"),
            std::string::npos);
  std::int64_t next = 0;
  for (const Range& range : records->chunks()) {
    EXPECT_EQ(range.begin, next);
    EXPECT_TRUE(range.begin % 8 == 0);
    next = range.end;
  }
  EXPECT_EQ(next, 100);
}

TEST(Hdf5, WhatCannotBeReadSaysWhy) {
  const Folder folder;
  const auto path = folder.path() / "a.h5";
  const auto error = [&] { return first_error({.path = path}); };
  EXPECT_EQ(error(), path.string() + " does not exist");
  write_text(path, "no such thing");
  EXPECT_NE(error().find(": not a readable HDF5 file: "), std::string::npos);
  std::filesystem::remove(path);
  add_dataset(path, "a", H5T_NATIVE_UINT8, {2}, std::vector<std::uint8_t>{1, 2});
  add_dataset(path, "b", H5T_NATIVE_UINT8, {3}, std::vector<std::uint8_t>{1, 2, 3});
  EXPECT_EQ(error(), path.string() + ": dataset 'a' holds 2 samples, but 'b' holds 3");
  std::filesystem::remove(path);
  add_dataset(path, "a", H5T_NATIVE_UINT64, {2}, std::vector<std::uint64_t>{1, 2});
  EXPECT_NE(error().find("dataset 'a' has an unsupported type"), std::string::npos);
}

TEST(Hdf5, EveryCutIsAnErrorThatNamesTheFile) {
  const Folder folder;
  const auto path = folder.path() / "a.h5";
  write(path, 3);
  const std::string whole = read_text(path);
  for (std::size_t size = 0; size < whole.size(); size += whole.size() / 20) {
    write_text(path, whole.substr(0, size));
    EXPECT_NE(first_error({.path = path}).find("a.h5"), std::string::npos) << size;
  }
}

}  // namespace
}  // namespace ronde::data::files
