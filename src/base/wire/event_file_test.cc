#include "ronde/base/wire/event_file.h"

#include <bit>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "ronde/base/wire/proto_cursor.h"
#include "ronde/base/wire/tfrecord.h"

namespace ronde {
namespace {

// The first field of that number, of a message in a message: {5, 1, 9} is summary.value.metadata.
std::string_view at(std::string_view message, std::initializer_list<std::uint32_t> path) {
  for (const std::uint32_t field : path) {
    std::string_view found;
    for (ProtoCursor cursor(message); cursor.next();)
      if (cursor.field() == field && found.empty()) found = cursor.bytes();
    message = found;
  }
  return message;
}

std::uint64_t number_at(std::string_view message, std::uint32_t field) {
  for (ProtoCursor cursor(message); cursor.next();)
    if (cursor.field() == field) return cursor.number();
  ADD_FAILURE() << "no field " << field;
  return 0;
}

TEST(EventFile, TellsWhatARunWasStartedWith) {
  const std::string event =
      session_start_event(12.5, {{"lr", 0.25}, {"nesterov", true}, {"name", std::string("adam")}});
  EXPECT_EQ(at(event, {5, 1, 1}), "_hparams_/session_start_info");
  EXPECT_EQ(at(event, {5, 1, 9, 1, 1}), "hparams");
  const std::string_view start = at(event, {5, 1, 9, 1, 2, 3});
  std::map<std::string, std::string_view> values;
  for (ProtoCursor cursor(start); cursor.next();)
    if (cursor.field() == 1) values[std::string(at(cursor.bytes(), {1}))] = at(cursor.bytes(), {2});
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(std::bit_cast<double>(number_at(values["lr"], 2)), 0.25);
  EXPECT_EQ(number_at(values["nesterov"], 4), 1u);
  EXPECT_EQ(at(values["name"], {3}), "adam");
  EXPECT_EQ(std::bit_cast<double>(number_at(start, 5)), 12.5);
}

TEST(EventFile, TellsHowARunEnded) {
  const std::string event = session_end_event(13.5, SessionEnd::Failure);
  EXPECT_EQ(at(event, {5, 1, 1}), "_hparams_/session_end_info");
  const std::string_view end = at(event, {5, 1, 9, 1, 2, 4});
  EXPECT_EQ(number_at(end, 1), 2u);
  EXPECT_EQ(std::bit_cast<double>(number_at(end, 2)), 13.5);
}

TEST(EventFile, NamesAreInTheOrderOfTime) {
  const std::string first = event_file_name();
  EXPECT_NE(first.find("tfevents"), std::string::npos);
  EXPECT_LE(first, event_file_name());
}

TEST(TfRecord, HasLengthsAndChecksums) {
  std::string file;
  append_tfrecord(file, "first");
  ASSERT_EQ(file.size(), 16u + 5);
  EXPECT_EQ(file.substr(0, 8), std::string("\5\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(file.substr(12, 5), "first");
  EXPECT_EQ(masked_crc32c("123456789"), 0xc78ab0e5u) << "of 0xe3069283, the usual check value";
}

}  // namespace
}  // namespace ronde
