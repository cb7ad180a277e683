#include "ronde/data/records.h"

namespace ronde::data {

std::string Records::key(std::int64_t index) const {
  return std::to_string(index);
}

std::vector<Range> Records::chunks() const {
  return {Range{0, size()}};
}

}  // namespace ronde::data
