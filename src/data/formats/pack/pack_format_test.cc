#include "ronde/data/formats/pack/pack_format.h"

#include <string>

#include <gtest/gtest.h>

#include "ronde/base/wire/crc32c.h"
#include "ronde/data/formats/pack/pack_manifest.h"
#include "ronde/data/io/bytes.h"
#include "ronde/data/testing/folder.h"

namespace ronde::data::files {
namespace {

Sample sample_of(int i) {
  Sample sample;
  sample.set("image", Array::bytes_of(std::string(static_cast<std::size_t>(5 + i), static_cast<char>('a' + i))));
  sample.set("class", Array::scalar<std::int64_t>(i - 3));
  Array values(Type::F32, {2, i});
  for (float& value : values.values<float>()) value = static_cast<float>(i) + 0.5f;
  sample.set("values", values);
  if (i == 2) sample.set("extra", Array::scalar<double>(0.25));  // another schema
  sample.set("key", Array::bytes_of("key" + std::to_string(i)));
  return sample;
}

std::string shard_of(int records) {
  std::string shard = make_pack_header();
  PackIndexMaker maker;
  for (int i = 0; i < records; ++i) {
    const PackRecord record = encode_pack_record(sample_of(i), "none");
    maker.add(record);
    shard += record.bytes;
    shard.resize(pack_padded(shard.size()), '\0');
  }
  const std::string index = maker.make();
  const PackFooter footer{.records = static_cast<std::uint64_t>(records),
                          .index_begin = shard.size(),
                          .index_bytes = index.size(),
                          .index_crc = crc32c(index)};
  return shard + index + make_pack_footer(footer);
}

std::string complaint(const std::string& shard) {
  return message_of([&] { parse_pack_shard(shard, "s.pack"); });
}

TEST(PackFormat, RecordsComeBackAsTheyWere) {
  const std::string shard = shard_of(4);
  const PackIndex index = parse_pack_shard(shard, "s.pack");
  ASSERT_EQ(index.size(), 4);
  EXPECT_EQ(index.schemas().size(), 2u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(index.key(i), "key" + std::to_string(i));
    const PackIndex::Place place = index.place(i);
    EXPECT_EQ(place.offset % 8, 0u);
    const auto copy =
        std::make_shared<const Array>(Array::bytes_of(std::string_view(shard).substr(place.offset, place.bytes)));
    EXPECT_EQ(crc32c(copy->text()), place.crc);
    const Sample read = decode_pack_record(copy->text(), index.schema(i), copy, "here"), wrote = sample_of(i);
    for (const auto& [name, array] : wrote.arrays()) {
      if (name == "key") continue;
      EXPECT_EQ(read.at(name).type(), array.type());
      EXPECT_EQ(read.at(name).shape(), array.shape());
      EXPECT_EQ(read.at(name).text(), array.text()) << name;
      // Where it lies it can be used: nothing is copied, and nothing is crooked.
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(read.at(name).data()) % size_of(array.type()), 0u);
    }
  }
}

TEST(PackFormat, ASmallRecordCostsFewBytes) {
  Sample sample;
  sample.set("image", Array::bytes_of(std::string(1024, 'x')));
  sample.set("class", Array::scalar<std::int64_t>(1));
  EXPECT_EQ(encode_pack_record(sample, "k").bytes.size(), 1024u + 8 + 8);  // and 8 and the key in the index
}

TEST(PackFormat, CutOffAnywhere) {
  const std::string shard = shard_of(3);
  ASSERT_EQ(complaint(shard), "");
  for (std::size_t size = 0; size < shard.size(); ++size) ASSERT_NE(complaint(shard.substr(0, size)), "") << size;
  EXPECT_EQ(complaint(shard.substr(0, 30)), "s.pack: the file ends at byte 30, inside its header");
  EXPECT_EQ(complaint(shard.substr(0, 100)),
            "s.pack: the file ends at byte 100 without the footer that closes a shard: it was cut off");
}

TEST(PackFormat, ADamagedByteAnywhereIsFound) {
  const std::string good = shard_of(3);
  const PackIndex index = parse_pack_shard(good, "s.pack");
  const auto end = index.place(2).offset + index.place(2).bytes;
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x20);
    bool found = complaint(bad) != "";
    for (int record = 0; record < 3; ++record) {  // records are checked when they are read
      const auto place = index.place(record);
      found = found || crc32c(std::string_view(bad).substr(place.offset, place.bytes)) != place.crc;
    }
    const bool between = i >= kPackEdge && i < pack_padded(end) && bad[i] == 0x20;  // zeros that nobody reads
    ASSERT_TRUE(found || between) << i;
  }
}

TEST(PackFormat, OtherFilesAndNewerVersions) {
  EXPECT_EQ(complaint(std::string(500, 'x')), "s.pack: byte 0: not a pack: it does not begin with RONDEPAK");
  std::string newer = shard_of(1);
  newer[8] = 2;
  EXPECT_EQ(complaint(newer), "s.pack is a pack of version 2, but this Ronde reads up to version 1: use a newer Ronde");
}

// Checksums that fit say nothing about who made them.
TEST(PackFormat, FootersThatPointNowhere) {
  const std::string shard = shard_of(2);
  const PackFooter good = parse_pack_footer(std::string_view(shard).substr(shard.size() - 64), shard.size(), "s");
  const auto with = [&](PackFooter footer) {
    return complaint(shard.substr(0, shard.size() - 64) + make_pack_footer(footer));
  };
  EXPECT_EQ(with(good), "");
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{63}, good.index_begin + 1, ~std::uint64_t{0},
                                     std::uint64_t{1} << 63, std::uint64_t{shard.size()}}) {
    PackFooter bad = good;
    bad.index_begin = number;
    EXPECT_NE(with(bad), "") << number;
    bad = good;
    bad.index_bytes = number;
    EXPECT_NE(with(bad), "") << number;
    bad = good;
    bad.records = number;
    EXPECT_NE(with(bad), "") << number;
  }
}

TEST(PackFormat, IndexesThatDoNotFit) {
  const std::string shard = shard_of(3);
  const PackFooter footer = parse_pack_footer(std::string_view(shard).substr(shard.size() - 64), shard.size(), "s");
  const std::string index = shard.substr(footer.index_begin, footer.index_bytes);
  int refused = 0;
  for (std::size_t at = 0; at < index.size(); ++at)
    for (const char value : {'\0', '\x7f', '\xff'}) {
      std::string bad = index;
      bad[at] = value;
      PackFooter fits = footer;
      fits.index_crc = crc32c(bad);
      try {
        const PackIndex parsed(bad, fits, "s");
        for (int i = 0; i < 3; ++i) {  // what is not refused leads nowhere else
          const auto place = parsed.place(i);
          ASSERT_LE(place.offset + place.bytes, footer.index_begin);
          const auto record =
              std::make_shared<const Array>(Array::bytes_of(std::string_view(shard).substr(place.offset, place.bytes)));
          parsed.key(i);
          try {
            decode_pack_record(record->text(), parsed.schema(i), record, "s");
          } catch (const Error&) {
          }
        }
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::Kind::BadInput);
        ++refused;
      }
    }
  EXPECT_GT(refused, 100);
}

TEST(PackFormat, RecordsThatDoNotFitTheirSchema) {
  const PackRecord record = encode_pack_record(sample_of(3), "k");
  const auto owner = std::make_shared<const Array>(Array::bytes_of(record.bytes));
  const auto refuse = [&](std::string_view bytes) {
    return message_of([&] { decode_pack_record(bytes, record.schema, owner, "s at byte 64"); });
  };
  EXPECT_EQ(refuse(record.bytes), "");
  for (std::size_t size = 0; size < record.bytes.size(); ++size)
    ASSERT_EQ(refuse(owner->text().substr(0, size)),
              "s at byte 64: the record does not hold the arrays that the index names")
        << size;
  for (int byte = 0; byte < 256; ++byte) {
    std::string bad = record.bytes;
    for (std::size_t i = 0; i < 4; ++i) bad[i] = static_cast<char>(byte);
    const auto copy = std::make_shared<const Array>(Array::bytes_of(bad));
    message_of([&] { decode_pack_record(copy->text(), record.schema, copy, "s"); });  // does no harm
  }
}

TEST(PackManifestTest, ThereAndBack) {
  const PackManifest manifest{.classes = {"cat", "dog"},
                              .shards = {{"data-00000.pack", 3, 500, 0xdeadbeef}, {"data-00001.pack", 1, 200, 7}},
                              .skipped = {{5, "dog/5.jpg", "it is \"empty\""}},
                              .made = "of something",
                              .next = 6};
  EXPECT_EQ(parse_pack_manifest(to_json(manifest), "pack.json"), manifest);
}

TEST(PackManifestTest, WhatIsWrongIsNamed) {
  const std::string good = to_json({.shards = {{"a.pack", 3, 500, 1}}});
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string bad = good;
    bad.replace(bad.find(from), from.size(), to);
    return message_of([&] { parse_pack_manifest(bad, "pack.json"); });
  };
  EXPECT_EQ(with("\"version\": 1", "\"version\": 2"),
            "pack.json has version 2, but this Ronde reads packs up to version 1: use a newer Ronde");
  EXPECT_EQ(with("ronde-pack", "other"), "pack.json: not a pack manifest");
  EXPECT_EQ(with("\"bytes\": 500,\n      \"crc", "\"bytes\": -1,\n      \"crc"), "pack.json: \"bytes\" is not a count");
  EXPECT_EQ(with("\"a.pack\"", "\"../a.pack\""), "pack.json: \"file\" is not the name of a file in the same folder");
  EXPECT_EQ(with("\"samples\": 3,\n  \"bytes", "\"samples\": 4,\n  \"bytes"),
            "pack.json: \"samples\" is not the sum over the shards");
  EXPECT_EQ(with("\"00000001\"", "\"x\""), "pack.json: \"crc32c\" is not a checksum");
  EXPECT_EQ(with("\"shards\"", "\"shades\""), "pack.json: \"shards\" is missing");
  EXPECT_EQ(with("\"samples\": 3", "\"samples\": 1e300"), "pack.json: \"samples\" is not a count");
  for (std::size_t size = 0; size + 2 < good.size(); ++size)
    ASSERT_NE(message_of([&] { parse_pack_manifest(good.substr(0, size), "pack.json"); }), "") << size;
  EXPECT_NE(message_of([&] { parse_pack_manifest("[1]", "pack.json"); }), "");
}

}  // namespace
}  // namespace ronde::data::files
