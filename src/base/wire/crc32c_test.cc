#include "ronde/base/wire/crc32c.h"

#include <string>

#include <gtest/gtest.h>

#include "ronde/base/math/random.h"
#include "ronde/base/wire/crc32c_ways.h"

namespace ronde {
namespace {

std::string noise(std::size_t size) {
  Random random(17);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

TEST(Crc32c, KnownValues) {  // RFC 3720, B.4, and the usual check value
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(Crc32c, GoesOnFromAnEarlierPiece) {
  const std::string bytes = noise(5000);
  for (const std::size_t cut : {0, 1, 7, 95, 96, 97, 3071, 3072, 4999, 5000})
    EXPECT_EQ(crc32c(std::string_view(bytes).substr(cut), crc32c(std::string_view(bytes).substr(0, cut))),
              crc32c(bytes));
}

TEST(Crc32c, InstructionAndTablesAgree) {
  const auto fast = detail::crc32c_by_instruction();
  if (fast == nullptr) GTEST_SKIP() << "this processor has no instruction for it";
  const std::string bytes = noise(20000);
  const std::string_view all = bytes;
  for (std::size_t size = 0; size <= 700; ++size)
    for (const std::size_t from : {0, 1, 5})
      ASSERT_EQ(fast(all.substr(from, size), 7), detail::crc32c_by_tables(all.substr(from, size), 7)) << size;
  for (const std::size_t size : {1023, 1024, 3071, 3072, 3073, 3168, 6144, 6239, 6240, 19999})
    EXPECT_EQ(fast(all.substr(0, size), 0), detail::crc32c_by_tables(all.substr(0, size), 0)) << size;
}

}  // namespace
}  // namespace ronde
