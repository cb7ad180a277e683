#include "ronde/data/formats/proto/example.h"

#include <gtest/gtest.h>

#include "ronde/base/wire/proto_writer.h"
#include "ronde/data/formats/naming.h"
#include "ronde/data/formats/proto/datum.h"
#include "ronde/data/testing/records.h"

namespace ronde::data::files {
namespace {

Sample parse(const std::string& bytes) {
  const auto kept = std::make_shared<const std::string>(bytes);
  return parse_example(*kept, "e", kept);
}

// A feature as some other program may write it.
std::string example_with(const std::string& key, const std::string& feature) {
  std::string entry, features, example;
  ProtoWriter(entry).bytes(1, key);
  ProtoWriter(entry).bytes(2, feature);
  ProtoWriter(features).bytes(1, entry);
  ProtoWriter(example).bytes(1, features);
  return example;
}

std::string hex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

TEST(Example, ReadsWhatTensorFlowWrites) {
  // What Google's library makes of a: int64 [1, -1, 300], b: bytes ['xy'], f: float [1.5].
  const Sample sample =
      parse(hex("0a340a160a016112111a0f0a0d01ffffffffffffffffff01ac02"
                "0a0b0a016212060a040a027879"
                "0a0d0a0166120812060a040000c03f"));
  EXPECT_TRUE(same(sample.at("a"), array_of<std::int64_t>({3}, {1, -1, 300})));
  EXPECT_TRUE(same(sample.at("b"), Array::bytes_of("xy")));
  EXPECT_TRUE(same(sample.at("f"), Array::scalar(1.5f)));
  EXPECT_EQ(sample.arrays().size(), 3u);
}

TEST(Example, TakesNumbersPackedOrNot) {
  std::string integers, floats, feature;
  ProtoWriter(integers).varint(1, 7);
  ProtoWriter(integers).varint(1, static_cast<std::uint64_t>(-2));
  ProtoWriter(feature).bytes(3, integers);
  EXPECT_TRUE(same(parse(example_with("n", feature)).at("n"), array_of<std::int64_t>({2}, {7, -2})));
  floats = std::string("\x0d\0\0\x80\x3f", 5) + std::string("\x0d\0\0\0\x40", 5);  // field 1 as fixed 32 bits, twice
  feature.clear();
  ProtoWriter(feature).bytes(2, floats);
  EXPECT_TRUE(same(parse(example_with("n", feature)).at("n"), array_of<float>({2}, {1, 2})));
}

TEST(Example, EveryArrayComesBack) {
  Sample sample;
  sample.set("jpeg", Array::bytes_of(std::string("\xff\xd8\0\n", 4)));
  sample.set("empty", Array::bytes_of(""));
  sample.set("one", Array::scalar<std::int64_t>(-5));
  sample.set("many", array_of<std::int64_t>({3}, {0, 1, INT64_MIN}));
  sample.set("lonely", array_of<std::int64_t>({1}, {4}));
  sample.set("float", array_of<float>({2}, {-1.5f, 3e38f}));
  sample.set("none", Array(Type::F32, {0}));
  sample.set("pixels", array_of<std::uint8_t>({1, 2, 3}, {1, 2, 3, 4, 5, 6}));
  sample.set("double", array_of<double>({2, 2}, {1, 2, 3, 4}));
  sample.set("byte", Array::scalar<std::uint8_t>(9));
  sample.set("short", array_of<std::uint16_t>({3}, {1, 2, 65535}));
  const Sample back = parse(encode_example(sample));
  EXPECT_EQ(back.arrays().size(), sample.arrays().size());
  for (const auto& [name, array] : sample.arrays()) EXPECT_TRUE(same(back.at(name), array)) << name;
}

TEST(Example, WhatIsCutOffSaysWhere) {
  Sample sample;
  sample.set("image", Array::bytes_of("xyz"));
  sample.set("label", Array::scalar<std::int64_t>(1));
  const std::string whole = encode_example(sample);
  for (std::size_t size = 1; size < whole.size(); ++size)
    EXPECT_NE(message_of([&] { parse(whole.substr(0, size)); }).find("e: byte"), std::string::npos) << size;
  EXPECT_EQ(message_of([&] { parse(hex("0a02ffff")); }),
            "e: byte 4 of the message: expected 1 more bytes, but only 0 are left");
  EXPECT_EQ(message_of([&] { parse(hex("0b")); }), "e: byte 0 of the message: field 1 has the unsupported wire type 3");
  EXPECT_EQ(message_of([&] { parse(hex("0affffffffffffffffff01")); }),
            "e: byte 11 of the message: expected 18446744073709551615 more bytes, but only 0 are left");
}

TEST(Example, ShapesThatDoNotFitAreRefused) {
  Sample sample;
  sample.set("x", Array::bytes_of("12345"));
  sample.set("x/type", Array::bytes_of("f32"));
  sample.set("x/shape", array_of<std::int64_t>({2}, {1, 2}));
  EXPECT_EQ(message_of([&] { parse(encode_example(sample)); }), "e: 'x' must be f32[1,2] (8 bytes), but has 5 bytes");
  sample.set("x/shape", array_of<std::int64_t>({2}, {INT64_MAX, INT64_MAX}));
  EXPECT_NE(message_of([&] { parse(encode_example(sample)); }).find("invalid array shape"), std::string::npos);
}

TEST(Naming, PicturesAndClassesAreCalledTheSame) {
  Sample sample;
  sample.set("image/encoded", Array::bytes_of("jpeg"));
  sample.set("image/class/label", Array::scalar<std::int64_t>(3));
  use_our_names(sample, {}, "s");
  EXPECT_EQ(sample.at("image").text(), "jpeg");
  EXPECT_EQ(class_of(sample), 3);

  Sample other;
  other.set("pic", Array::bytes_of("p"));
  other.set("kind", Array::bytes_of("cat"));
  use_our_names(other, {.image = "pic", .label = "kind", .classes = {"ant", "cat"}}, "s");
  EXPECT_EQ(other.at("image").text(), "p");
  EXPECT_EQ(class_of(other), 1);

  Sample many;
  many.set("label", array_of<std::int64_t>({3}, {1, 0, 1}));
  use_our_names(many, {}, "s");
  EXPECT_TRUE(same(many.at("labels"), array_of<float>({3}, {1, 0, 1})));
}

TEST(Naming, ClassesThatCannotBeAreRefused) {
  const auto error_for = [](Array label, Naming naming) {
    Sample sample;
    sample.set("label", std::move(label));
    return message_of([&] { use_our_names(sample, naming, "s"); });
  };
  EXPECT_EQ(error_for(Array::scalar<std::int64_t>(-1), {}), "s: class is -1, but classes count from 0");
  EXPECT_EQ(error_for(Array::scalar<std::int64_t>(2), {.classes = {"a", "b"}}),
            "s: class is 2, but there are 2 classes, counted from 0");
  EXPECT_NE(error_for(Array::scalar<std::int64_t>(1'000'000), {}).find("classes must be below"), std::string::npos);
  EXPECT_EQ(error_for(Array::scalar(1.5f), {}), "s: its class must be a whole number, got 1.5");
  EXPECT_EQ(error_for(Array::bytes_of("dog"), {.classes = {"a"}}), "s: class 'dog' is not one of the known classes");
  EXPECT_EQ(error_for(Array::scalar<std::int64_t>(0), {.label = "y"}), "s: the sample has no 'y'; it has label");
}

std::string datum(std::uint64_t channels, std::uint64_t height, std::uint64_t width, const std::string& data) {
  std::string bytes;
  ProtoWriter(bytes).varint(1, channels);
  ProtoWriter(bytes).varint(2, height);
  ProtoWriter(bytes).varint(3, width);
  ProtoWriter(bytes).bytes(4, data);
  ProtoWriter(bytes).varint(5, 4);
  return bytes;
}

TEST(Datum, PixelsComeChannelsLast) {
  const Sample sample = parse_datum(datum(2, 1, 3, "abcxyz"), "d", nullptr);
  EXPECT_EQ(sample.at("image").text(), "axbycz");
  EXPECT_EQ(sample.at("image").shape(), (Shape{1, 3, 2}));
  EXPECT_EQ(sample.at("label").number(), 4);
}

TEST(Datum, EncodedPicturesAndFloatsAreTakenToo) {
  std::string bytes;
  ProtoWriter(bytes).bytes(4, "jpeg");
  ProtoWriter(bytes).varint(7, 1);
  EXPECT_EQ(parse_datum(bytes, "d", nullptr).at("image").text(), "jpeg");
  bytes = datum(1, 1, 1, "") + std::string("\x35\0\0\x80\x3f", 5);
  EXPECT_TRUE(same(parse_datum(bytes, "d", nullptr).at("image"), array_of<float>({1, 1, 1}, {1})));
}

TEST(Datum, WhatDoesNotFitIsRefused) {
  const auto error = [](const std::string& bytes) { return message_of([&] { parse_datum(bytes, "d", nullptr); }); };
  EXPECT_EQ(error(datum(2, 1, 3, "abcxy")), "d: a Datum of 2 x 1 x 3 should have 6 values, but has 5");
  EXPECT_EQ(error(datum(static_cast<std::uint64_t>(-1), 1, 3, "abc")),
            "d: invalid Datum size: -1 channels, 1 rows and 3 columns");
  const std::string whole = datum(2, 1, 3, "abcxyz");
  for (std::size_t size = 0; size < whole.size() - 2; ++size) EXPECT_NE(error(whole.substr(0, size)), "") << size;
}

}  // namespace
}  // namespace ronde::data::files
