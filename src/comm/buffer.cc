#include "ronde/comm/buffer.h"

#include <algorithm>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::comm {

Shape::Shape(std::span<const std::int64_t> extents) : dimensions_(extents.size()) {
  if (extents.size() > kMost)
    throw Error::bad_input("tensor has {} dimensions; at most {} are supported", extents.size(), kMost);
  for (const std::int64_t extent : extents)
    if (extent < 0) throw Error::bad_input("dimensions of a tensor must be at least 0, got {}", extent);
  std::ranges::copy(extents, extents_.begin());
}

std::size_t Shape::elements() const {
  std::size_t elements = 1;
  for (const std::int64_t extent : extents()) elements *= static_cast<std::size_t>(extent);
  return elements;
}

std::size_t Shape::elements_per_row() const {
  std::size_t elements = 1;
  for (std::size_t i = 1; i < dimensions_; ++i) elements *= static_cast<std::size_t>(extents_[i]);
  return elements;
}

Shape Shape::with_rows(std::int64_t rows) const {
  Shape other = *this;
  other.dimensions_ = std::max<std::size_t>(dimensions_, 1);
  other.extents_[0] = rows;
  return other;
}

std::string to_text(const Shape& shape) {
  std::vector<std::string> extents;
  for (const std::int64_t extent : shape.extents()) extents.push_back(std::to_string(extent));
  return fmt::format("[{}]", join(extents, ", "));
}

}  // namespace ronde::comm
