#include "ronde/comm/execute/fusion.h"

#include <algorithm>
#include <map>

namespace ronde::comm::detail {
namespace {

using Bucket = std::vector<std::size_t>;

class Fuser {
 public:
  Fuser(std::span<const FusionItem> items, const FusionLimits& limits) : items_(items), limits_(limits) {}

  std::vector<Bucket> run() {
    for (std::size_t position = 0; position < items_.size(); ++position) add(position);
    close_all();
    // A bucket is complete with its last item, however long it then stayed open for more.
    std::ranges::sort(done_, {}, [](const Bucket& bucket) { return bucket.back(); });
    return std::move(done_);
  }

 private:
  struct Open {
    Bucket positions;
    std::size_t bytes = 0;
  };

  void add(std::size_t position) {
    const FusionItem& item = items_[position];
    if (item.fence) close_all();
    if (item.kind == 0) {
      done_.push_back({position});
      return;
    }
    const auto open = open_.find(item.kind);
    if (open != open_.end() && open->second.bytes + item.bytes > limit()) close(item.kind);
    Open& target = open_[item.kind];
    target.positions.push_back(position);
    target.bytes += item.bytes;
    if (target.bytes >= limit()) close(item.kind);
  }

  std::size_t limit() const { return done_.empty() ? limits_.first_bytes : limits_.bytes; }

  void close(std::uint64_t kind) {
    done_.push_back(std::move(open_[kind].positions));
    open_.erase(kind);
  }

  void close_all() {
    for (auto& [kind, open] : open_) done_.push_back(std::move(open.positions));
    open_.clear();
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
