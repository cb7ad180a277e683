#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ronde::comm::detail {

// Something that may travel together with others.
struct FusionItem {
  std::size_t bytes = 0;
  std::uint64_t kind = 0;  // only what is of one kind (operation, type, scale, ...) fits together; 0: travels alone
  bool fence = false;      // may come only after what stands before it is done: the two cannot travel together
};

struct FusionLimits {
  std::size_t bytes = 0;        // of a bucket; one item alone may be larger
  std::size_t first_bytes = 0;  // of the first bucket: small, so that the first reduction starts early
  friend bool operator==(const FusionLimits&, const FusionLimits&) = default;
};

// Puts items into buckets; returns the buckets as lists of positions. Items keep their order within a bucket, and
// buckets are in the order in which they become complete when the items come in the given order. Every item is in
// exactly one bucket. Pure.
std::vector<std::vector<std::size_t>> fuse(std::span<const FusionItem> items, const FusionLimits& limits);

}  // namespace ronde::comm::detail
