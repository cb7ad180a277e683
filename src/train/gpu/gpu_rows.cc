#include "ronde/train/gpu/gpu_rows.h"

#include <algorithm>

namespace ronde {

std::optional<GpuRows::Place> GpuRows::place(int device, std::uint32_t stream, std::int64_t begin_ns,
                                             std::int64_t end_ns) {
  std::vector<Row>& rows = rows_[{device, stream}];
  const auto fits = [&](const Row& row) {
    return row.end_ns <= begin_ns || (row.end_ns - begin_ns <= kSlackNs && row.end_ns < end_ns);
  };
  auto row = std::ranges::find_if(rows, fits);
  if (row == rows.end() && rows.size() < kMostRows) {
    rows.push_back({size_++, begin_ns});
    row = std::prev(rows.end());
  }
  if (row == rows.end()) row = std::ranges::min_element(rows, {}, &Row::end_ns);
  const std::int64_t begin = std::max(begin_ns, row->end_ns);
  if (begin > end_ns) return {};
  row->end_ns = end_ns;
  return Place{row->number, begin};
}

}  // namespace ronde
