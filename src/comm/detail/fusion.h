#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ronde::comm::detail {

// A request that may travel together with others.
struct FusionItem {
  std::size_t bytes = 0;
  std::uint64_t kind = 0;  // only requests of one kind (operation, type, scale, ...) fit together; 0: travels alone
  int unit = -1;           // requests of one unit are never parted: the user submitted them as a group; -1: no unit
};

struct FusionLimits {
  std::size_t bytes = 0;        // of a bucket; one request alone may be larger
  std::size_t first_bytes = 0;  // of the first bucket: small, so that the first reduction starts early
};

// Puts requests into buckets; returns the buckets as lists of positions. Requests keep their order within a bucket, and
// buckets are in the order in which they become complete when the requests come in the given order. Every request is in
// exactly one bucket. Pure.
std::vector<std::vector<std::size_t>> fuse(std::span<const FusionItem> items, const FusionLimits& limits);

}  // namespace ronde::comm::detail
