// Pictures that are cut off, damaged, or lie about themselves.
#include <array>

#include <gtest/gtest.h>

#include "ronde/data/order/random.h"
#include "ronde/data/picture/header.h"
#include "ronde/data/picture/picture_decoder.h"
#include "ronde/data/picture/reencode.h"
#include "ronde/data/picture/testing/pictures.h"
#include "ronde/data/testing/folder.h"

namespace ronde::data::picture {
namespace {

// Decodes, by a crop that the index chooses; what went wrong.
std::string outcome(const Decoder& decoder, std::string_view bytes, std::int64_t index) {
  Sample sample;
  sample.set("image", Array::bytes_of(bytes));
  sample.set("class", Array::scalar<std::int64_t>(0));
  std::vector<float> features(decoder.kind().values());
  std::int64_t number = 0;
  return message_of([&] {
    (void)decoder.scratch_bytes(sample, {.index = index});
    decoder.decode(sample, {.index = index}, {.features = features, .classes = {&number, 1}});
  });
}

TEST(Damaged, EveryPrefixIsAnErrorWhateverTheCrop) {
  const Pixels picture = gradient(40, 40, 3);
  const auto decoder = make_picture_decoder({.resolution = 8});
  for (const std::string& bytes :
       {encode_jpeg(picture, {.quality = 60}), encode_jpeg(picture, {.quality = 60, .progressive = true}),
        encode_png(gradient(16, 12, 3)), encode_png(gradient(16, 12, 3), {.interlaced = true})}) {
    ASSERT_EQ(outcome(*decoder, bytes, 0), "");
    // The last bytes of a PNG are the checksum of nothing.
    const std::size_t end = bytes[0] == '\xff' ? bytes.size() : bytes.size() - 8;
    for (std::size_t size = 0; size < end; ++size)
      ASSERT_NE(outcome(*decoder, std::string_view(bytes).substr(0, size), static_cast<std::int64_t>(size)), "")
          << size << " of " << bytes.size();
  }
}

TEST(Damaged, FlippedBytesNeverDoHarm) {
  const Pixels picture = gradient(33, 29, 3);
  const auto decoder = make_picture_decoder({.resolution = 8});
  for (const std::string& good : {encode_jpeg(picture), encode_jpeg(picture, {.progressive = true}),
                                  encode_jpeg(gradient(20, 20, 1), {.restart_rows = 1}), encode_png(picture)}) {
    for (std::uint64_t i = 0; i < 400; ++i) {
      std::string bytes = good;
      Random random(7, i);
      for (std::uint64_t k = 0; k <= random.below(4); ++k)
        bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
      (void)outcome(*decoder, bytes,
                    static_cast<std::int64_t>(i));  // an error or a picture, and no sanitizer complains
    }
  }
}

// A JPEG's size lies at a fixed place behind its frame marker.
std::string with_size(std::string bytes, int marker, int width, int height) {
  const std::size_t at = bytes.find(std::string("\xff") + static_cast<char>(marker)) + 5;
  bytes[at] = static_cast<char>(height >> 8);
  bytes[at + 1] = static_cast<char>(height & 255);
  bytes[at + 2] = static_cast<char>(width >> 8);
  bytes[at + 3] = static_cast<char>(width & 255);
  return bytes;
}

TEST(Damaged, HugeSizesInSmallFilesAllocateNothing) {
  const auto decoder = make_picture_decoder({.resolution = 8});
  const std::string small = encode_jpeg(gradient(16, 16, 3)),
                    several = encode_jpeg(gradient(16, 16, 3), {.progressive = true});
  for (const std::string& bytes : {with_size(small, 0xc0, 65500, 65500), with_size(several, 0xc2, 65500, 65500)}) {
    const std::string message = outcome(*decoder, bytes, 0);
    EXPECT_TRUE(message.starts_with("a JPEG of 65500 x 65500 pixels that ends after ")) << message;
  }
  std::string png = encode_png(gradient(16, 16, 3));
  png[17] = png[21] = 1;  // more than 65,536 a side
  EXPECT_TRUE(outcome(*decoder, png, 0).starts_with("a PNG of 65552 x 65552 pixels that ends after "));
  EXPECT_EQ(outcome(*decoder, with_size(small, 0xc0, 0, 5), 0), "a JPEG of 0 x 5 pixels");
}

TEST(Damaged, OtherKindsAreNamed) {
  const auto decoder = make_picture_decoder({.resolution = 8});
  std::string bytes = encode_jpeg(gradient(16, 16, 3));
  const std::size_t frame = bytes.find("\xff\xc0");
  std::string other = bytes;
  other[frame + 4] = 12;
  EXPECT_EQ(outcome(*decoder, other, 0), "a JPEG of 12 bits per channel: only 8 can be read");
  other = bytes;
  other[frame + 1] = '\xc9';
  EXPECT_EQ(outcome(*decoder, other, 0), "a JPEG with arithmetic coding: only Huffman coding can be read");
  EXPECT_EQ(outcome(*decoder, "GIF89a", 0), "not a JPEG, PNG or TIFF: 6 bytes that begin with 47 49");
  EXPECT_EQ(outcome(*decoder, "", 0), "the picture is empty");
  EXPECT_EQ(outcome(*decoder, "\xff\xd8\xff\xd9", 0), "a JPEG that ends at byte 4, in its header");
}

// A file with endless scans would keep a reader busy for hours.
TEST(Damaged, ScansAreLimited) {
  std::string bytes = encode_jpeg(gradient(64, 64, 1), {.progressive = true});
  const std::size_t scan = bytes.rfind("\xff\xda"), end = bytes.rfind("\xff\xd9");
  const std::string last = bytes.substr(scan, end - scan);
  std::string many = bytes.substr(0, end);
  for (int i = 0; i < 300; ++i) many += last;
  many += "\xff\xd9";
  const std::string message = outcome(*make_picture_decoder({.resolution = 8}), many, 0);
  EXPECT_NE(message, "");
}

}  // namespace
}  // namespace ronde::data::picture
