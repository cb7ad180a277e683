#include "ronde/launch/stage/manifest.h"

#include <gtest/gtest.h>

namespace ronde::launch::detail {
namespace {

const Manifest kExample{
    .source = "/data/a b",
    .source_print = 17,
    .entries = {{.path = "one file", .kind = Entry::Kind::File, .bytes = 12, .changed = 34, .mode = 0600},
                {.path = "sub", .kind = Entry::Kind::Folder, .bytes = 0, .changed = 0, .mode = 0755},
                {.path = "sub/x\ny", .kind = Entry::Kind::Link, .bytes = 0, .changed = 0, .mode = 0777}}};

TEST(Manifest, SurvivesAFile) {
  const auto read = Manifest::decode(kExample.encode());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->source, "/data/a b");
  EXPECT_EQ(read->source_print, 17u);
  EXPECT_EQ(read->entries, kExample.entries);
  const Manifest empty{.source = "x", .source_print = 0};
  EXPECT_EQ(Manifest::decode(empty.encode())->entries, Entries{});
}

TEST(Manifest, OneThatIsCutOffIsNone) {
  const std::string text = kExample.encode();
  for (std::size_t size = 0; size < text.size(); ++size) EXPECT_FALSE(Manifest::decode(text.substr(0, size))) << size;
  EXPECT_FALSE(Manifest::decode("something else"));
}

TEST(Manifest, KnowsWhetherAllIsThereAndWhatIsNotOurs) {
  Entries here = kExample.entries;
  EXPECT_TRUE(holds(here, kExample));
  EXPECT_EQ(foreign_to(kExample, here), std::vector<std::string>{});
  here.push_back({.path = "zlog"});
  EXPECT_TRUE(holds(here, kExample));
  EXPECT_EQ(foreign_to(kExample, here), std::vector<std::string>{"zlog"});
  here[0].changed = 35;
  EXPECT_FALSE(holds(here, kExample)) << "written to since";
  here.erase(here.begin());
  EXPECT_FALSE(holds(here, kExample));
}

TEST(Fingerprint, ChangesWithAnything) {
  const std::uint64_t before = fingerprint(kExample.entries);
  EXPECT_EQ(before, fingerprint(kExample.entries));
  for (const int what : {0, 1, 2, 3}) {
    Entries other = kExample.entries;
    if (what == 0) other[0].bytes = 13;
    if (what == 1) other[0].changed = 35;
    if (what == 2) other[0].path = "one file.";
    if (what == 3) other.pop_back();
    EXPECT_NE(fingerprint(other), before) << what;
  }
}

}  // namespace
}  // namespace ronde::launch::detail
