#include "ronde/comm/detail/fusion.h"

#include <algorithm>
#include <map>

namespace ronde::comm::detail {
namespace {

using Bucket = std::vector<std::size_t>;

class Fuser {
 public:
  Fuser(std::span<const FusionItem> items, const FusionLimits& limits) : items_(items), limits_(limits) {}

  std::vector<Bucket> run() {
    for (std::size_t begin = 0; begin < items_.size();) {
      std::size_t end = begin + 1;
      while (end < items_.size() && items_[begin].unit >= 0 && items_[end].unit == items_[begin].unit) ++end;
      add(begin, end);
      begin = end;
    }
    // What is still open is complete with its last request.
    std::vector<Bucket> rest;
    for (auto& [kind, open] : open_) rest.push_back(std::move(open.positions));
    std::ranges::sort(rest, {}, [](const Bucket& bucket) { return bucket.back(); });
    for (Bucket& bucket : rest) done_.push_back(std::move(bucket));
    return std::move(done_);
  }

 private:
  struct Open {
    Bucket positions;
    std::size_t bytes = 0;
  };

  // The requests [begin, end) stay together. A unit of several kinds is one bucket of its own.
  void add(std::size_t begin, std::size_t end) {
    const std::uint64_t kind = items_[begin].kind;
    std::size_t bytes = 0;
    bool mixed = false;
    for (std::size_t i = begin; i < end; ++i) {
      bytes += items_[i].bytes;
      mixed = mixed || items_[i].kind != kind;
    }
    if (kind == 0 || mixed) {
      done_.emplace_back();
      for (std::size_t i = begin; i < end; ++i) done_.back().push_back(i);
      return;
    }
    Open& open = open_[kind];
    if (!open.positions.empty() && open.bytes + bytes > limit()) close(kind);
    Open& target = open_[kind];
    for (std::size_t i = begin; i < end; ++i) target.positions.push_back(i);
    target.bytes += bytes;
    if (target.bytes >= limit()) close(kind);
  }

  std::size_t limit() const { return done_.empty() ? limits_.first_bytes : limits_.bytes; }

  void close(std::uint64_t kind) {
    done_.push_back(std::move(open_[kind].positions));
    open_.erase(kind);
  }

  std::span<const FusionItem> items_;
  const FusionLimits& limits_;
  std::map<std::uint64_t, Open> open_;
  std::vector<Bucket> done_;
};

}  // namespace

std::vector<Bucket> fuse(std::span<const FusionItem> items, const FusionLimits& limits) {
  return Fuser(items, limits).run();
}

}  // namespace ronde::comm::detail
