#include "ronde/comm/execute/rows.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "ronde/base/error.h"

namespace ronde::comm::detail {

Rows checked_rows(std::span<const std::uint64_t> told, std::size_t row_bytes, std::span<const int> ranks) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max());
  std::uint64_t left = kMost / std::max<std::size_t>(row_bytes, 1);  // rows for which there may be room
  Rows rows;
  for (std::size_t member = 0; member < told.size(); ++member) {
    const auto count = static_cast<std::int64_t>(told[member]);
    if (told[member] > left)
      throw Error(
          Error::Kind::System,
          fmt::format("rank {} announced {} rows of {} bytes, which cannot be", ranks[member], count, row_bytes),
          {.ranks = {ranks[member]}});
    left -= told[member];
    rows.push_back(count);
  }
  return rows;
}

std::int64_t total_of(const Rows& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
}

}  // namespace ronde::comm::detail
