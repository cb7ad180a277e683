#include "ronde/comm/execute/rows.h"

#include <limits>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::comm::detail {
namespace {

using Told = std::vector<std::uint64_t>;

const std::vector<int> kRanks{4, 5, 6};
constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();

// The rank that is named; -1 when the rows are taken.
int named(const Told& told, std::size_t row_bytes) {
  try {
    checked_rows(told, row_bytes, kRanks);
    return -1;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::System);
    EXPECT_NE(std::string(error.what()).find("rank " + std::to_string(error.ranks().at(0))), std::string::npos)
        << error.what();
    return error.ranks().at(0);
  }
}

TEST(Rows, AreTakenAsTold) {
  EXPECT_EQ(checked_rows(Told{3, 0, 5}, 12, kRanks), (Rows{3, 0, 5}));
  EXPECT_EQ(total_of({3, 0, 5}), 8);
  EXPECT_EQ(checked_rows(Told{0, kMost, 0}, 1, kRanks), (Rows{0, static_cast<std::int64_t>(kMost), 0}));
  EXPECT_EQ(checked_rows(Told{0, kMost, 0}, 0, kRanks), (Rows{0, static_cast<std::int64_t>(kMost), 0}))
      << "rows without a value";
}

TEST(Rows, ANegativeNumberIsRefusedHoweverSmallTheSum) {
  EXPECT_EQ(named({1'000'000, static_cast<std::uint64_t>(-999'998), 1}, 4), 5);
  EXPECT_EQ(named({0, 0, static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::min())}, 0), 6);
}

TEST(Rows, MoreThanMemoryCanHoldIsRefused) {
  EXPECT_EQ(named({kMost / 4 + 1, 0, 0}, 4), 4);
  EXPECT_EQ(named({kMost / 8, kMost / 8, kMost / 8}, 4), 6) << "together they are too many";
  EXPECT_EQ(named({kMost, kMost, 2}, 1), 5) << "the sum would be 0";
  EXPECT_EQ(named({kMost / 8, kMost / 8, 0}, 4), -1);
}

}  // namespace
}  // namespace ronde::comm::detail
