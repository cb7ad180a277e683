#include "ronde/comm/link/nodes/nodes_notes.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::comm::detail {
namespace {

TEST(NodesNotes, TextsArriveAsTheyWerePacked) {
  const std::vector<std::string> texts{"one", "", std::string(1000, 'x')};
  EXPECT_EQ(unpack_texts(pack_texts(texts)), texts);
  EXPECT_TRUE(unpack_texts("").empty());
  EXPECT_THROW(unpack_texts("short"), Error);
  EXPECT_EQ(unpack_texts(std::string(8, '\xff') + "rest"), (std::vector<std::string>{"rest"}))
      << "a length beyond the end";
}

TEST(NodesNotes, EqualTextsAreKeptOnce) {
  TextRuns some, more;
  for (int i = 0; i < 5000; ++i) some.add("the same");
  more.add("the same");
  more.add("another");
  more.add("");
  some.add(more);
  const std::string bytes = some.write();
  EXPECT_LT(bytes.size(), 100u);
  const std::vector<std::string> all = TextRuns::read(bytes, 5003).all();
  ASSERT_EQ(all.size(), 5003u);
  EXPECT_EQ(all[5000], "the same");
  EXPECT_EQ(all[5001], "another");
  EXPECT_EQ(all[5002], "");
  EXPECT_THROW(TextRuns::read(bytes, 5002), Error) << "more than there are members";
  EXPECT_THROW(TextRuns::read("nonsense", 10), Error);
}

TEST(NodesNotes, ANoteArrivesAsItWasWritten) {
  const std::string bytes = write_note({.kind = 'q', .channel = 7, .number = 9, .rest = "rest"});
  const auto note = read_note(bytes);
  ASSERT_TRUE(note.has_value());
  EXPECT_EQ(note->kind, 'q');
  EXPECT_EQ(note->channel, 7u);
  EXPECT_EQ(note->number, 9u);
  EXPECT_EQ(note->rest, "rest");
  EXPECT_FALSE(read_note(bytes.substr(0, 16)).has_value());
}

TEST(NodesNotes, SilentMembersAreThoseOfTheGroup) {
  const auto silent = read_silent(write_silent({{0, "step 3"}, {4, "beyond"}, {-1, "before"}, {3, ""}}), 4);
  ASSERT_EQ(silent.size(), 2u);
  EXPECT_EQ(silent[0].member, 0);
  EXPECT_EQ(silent[0].doing, "step 3");
  EXPECT_EQ(silent[1].member, 3);
  EXPECT_TRUE(read_silent(pack_texts({"no number", "x", "1"}), 4).empty());
}

}  // namespace
}  // namespace ronde::comm::detail
