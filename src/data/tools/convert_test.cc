#include "ronde/data/tools/convert.h"

#include <map>

#include <gtest/gtest.h>

#include "ronde/data/picture/reencode.h"
#include "ronde/data/testing/records.h"

namespace ronde::data {
namespace {

const std::vector<std::string> kClasses = {"ant", "bee", "cow"};

// A picture of one colour.
std::string jpeg(std::int64_t colour) {
  picture::Pixels pixels{.width = 4, .height = 4, .channels = 1};
  pixels.values.assign(16, static_cast<std::uint8_t>(10 * colour));
  return picture::encode_jpeg(pixels);
}

Sample picture_of(std::int64_t i) {
  Sample sample;
  sample.set("image", Array::bytes_of(jpeg(i)));
  sample.set("class", Array::scalar<std::int64_t>(i % 3));
  return sample;
}

std::string path_for(const std::string& format) {
  return format == "hdf5" ? "set.h5" : format == "csv" ? "set.csv" : format == "npy" ? "set-npy" : "set-" + format;
}

void write(const std::filesystem::path& path, const std::string& format, int samples, Sample (*make)(std::int64_t)) {
  const auto writer = make_writer({.path = path, .format = format, .classes = kClasses});
  for (int i = 0; i < samples; ++i) writer->add(make(i), "s" + std::to_string(i) + ".jpg");
  writer->finish();
}

// Pictures by their bytes, with their classes by name: what no format may lose or mix up.
std::map<std::string, std::string> contents(const std::filesystem::path& path, const std::string& format) {
  const auto records = open_records({.path = path, .format = format});
  std::map<std::string, std::string> found;
  for (std::int64_t i = 0; i < records->size(); ++i) {
    const Sample sample = records->read(i);
    found[std::string(sample.at("image").text())] = records->classes().at(static_cast<std::size_t>(class_of(sample)));
  }
  return found;
}

TEST(Convert, EncodedPicturesGoFromEveryFormatToEveryOther) {
  const std::vector<std::string> formats = {"tfrecord", "lmdb", "hdf5", "images", "tar", "pack"};
  for (const std::string& from : formats) {
    const Folder folder;
    if (from == "pack") {
      write(folder.path() / "first.h5", "hdf5", 20, picture_of);
      convert({.path = folder.path() / "first.h5"}, {.path = folder.path() / path_for(from), .format = "pack"});
    } else {
      write(folder.path() / path_for(from), from, 20, picture_of);
    }
    const auto before = contents(folder.path() / path_for(from), from);
    EXPECT_EQ(before.size(), 20u);
    for (const std::string& to : formats) {
      const auto path = folder.path() / "to" / path_for(to);
      const Converted done =
          convert({.path = folder.path() / path_for(from), .format = from}, {.path = path, .format = to});
      EXPECT_EQ(done.samples, 20);
      EXPECT_EQ(contents(path, to), before) << from << " to " << to;
      std::filesystem::remove_all(folder.path() / "to");
    }
  }
}

Sample pixels(std::int64_t i) {
  Sample sample;
  sample.set("image", array_of<std::uint8_t>({1, 2, 1}, {static_cast<std::uint8_t>(i), 7}));
  sample.set("class", Array::scalar<std::int64_t>(i % 3));
  return sample;
}

TEST(Convert, PixelsGoFromEveryFormatToEveryOther) {
  const std::vector<std::string> formats = {"tfrecord", "lmdb", "hdf5", "npy"};
  for (const std::string& from : formats) {
    const Folder folder;
    write(folder.path() / path_for(from), from, 20, pixels);
    const auto before = contents(folder.path() / path_for(from), from);
    EXPECT_EQ(before.size(), 20u);
    for (const std::string& to : formats) {
      const auto path = folder.path() / "to" / path_for(to);
      convert({.path = folder.path() / path_for(from), .format = from}, {.path = path, .format = to});
      EXPECT_EQ(contents(path, to), before) << from << " to " << to;
      std::filesystem::remove_all(folder.path() / "to");
    }
  }
}

Sample numbers(std::int64_t i) {
  Sample sample;
  sample.set("features", array_of<float>({3}, {static_cast<float>(i), 0.1f, -1e30f}));
  sample.set("class", Array::scalar<std::int64_t>(i % 3));
  return sample;
}

TEST(Convert, NumbersGoThroughCsvUnchanged) {
  const Folder folder;
  const auto csv = folder.path() / "a.csv", npy = folder.path() / "a";
  write(csv, "csv", 9, numbers);
  convert({.path = csv}, {.path = npy, .format = "npy"});
  for (const auto& path : {csv, npy}) {
    const auto records = open_records({.path = path});
    ASSERT_EQ(records->size(), 9);
    EXPECT_EQ(records->classes(), kClasses);
    for (std::int64_t i = 0; i < 9; ++i) {
      EXPECT_TRUE(same(records->read(i).at("features"), numbers(i).at("features")));
      EXPECT_EQ(class_of(records->read(i)), i % 3);
    }
  }
}

TEST(Convert, ImagesBecomeFilesInFolders) {
  const Folder folder;
  write(folder.path() / "a", "images", 6, picture_of);
  EXPECT_EQ(read_text(folder.path() / "a" / "bee" / "s4.jpg"), jpeg(4));
  const auto writer = make_writer({.path = folder.path() / "b", .format = "images"});
  EXPECT_EQ(message_of([&] { writer->add(pixels(0), "k"); }),
            "sample 'k' has no encoded picture (JPEG, PNG, TIFF) to write to a file");
}

TEST(Convert, ManyRecordsAreSeveralShardsOnlyWhenLarge) {
  const Folder folder;
  write(folder.path() / "a", "tfrecord", 3, picture_of);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "a" / "data-00000-of-00001.tfrecord"));
  write(folder.path() / "b.tfrecord", "tfrecord", 3, picture_of);
  EXPECT_EQ(open_records({.path = folder.path() / "b.tfrecord"})->classes(), kClasses);
}

TEST(Convert, NothingIsWrittenOverAndNothingHalf) {
  const Folder folder;
  write(folder.path() / "a.h5", "hdf5", 3, picture_of);
  EXPECT_EQ(message_of([&] { write(folder.path() / "a.h5", "hdf5", 3, picture_of); }),
            folder.text() + "/a.h5 already exists and is not overwritten");
  const auto error =
      message_of([&] { convert({.path = folder.path() / "a.h5"}, {.path = folder.path() / "b", .format = "npy"}); });
  EXPECT_NE(error.find("a.h5 (sample 0): sample 's0.jpg' is an encoded picture"), std::string::npos);
  std::size_t left = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) ++left;
  EXPECT_EQ(left, 1u);
  EXPECT_EQ(message_of([&] { make_writer({.path = folder.path() / "x", .format = "hdf"}); }),
            "cannot write the format 'hdf'; did you mean hdf5?");
  EXPECT_EQ(message_of([&] { make_writer({.path = folder.path() / "a.h5" / "x", .format = "npy"}); }),
            "cannot write " + folder.text() + "/a.h5/x: Not a directory");
}

TEST(Convert, SamplesMustBeAlikeWhereTheFormatNeedsIt) {
  const Folder folder;
  const auto writer = make_writer({.path = folder.path() / "a", .format = "npy"});
  writer->add(pixels(0), "first");
  EXPECT_EQ(message_of([&] { writer->add(numbers(1), "second"); }),
            "sample 'second' has an array 'features', but 'first' does not; this format needs the same arrays in all "
            "samples");
  Sample larger = pixels(0);
  larger.set("image", Array(Type::U8, {2, 2, 1}));
  EXPECT_EQ(
      message_of([&] { writer->add(larger, "third"); }),
      "'image' of sample 'third' is u8[2,2,1], but that of 'first' is u8[1,2,1]; this format needs one type and shape");
}

}  // namespace
}  // namespace ronde::data
