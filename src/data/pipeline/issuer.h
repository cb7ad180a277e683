#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "ronde/base/system/mutex.h"
#include "ronde/data/order/batch_plan.h"
#include "ronde/data/order/index_view.h"
#include "ronde/data/pipeline/memory/budget.h"
#include "ronde/data/pipeline/memory/buffer_pool.h"
#include "ronde/data/pipeline/run.h"

namespace ronde::data {

// How many samples should go through a pipeline together: enough that handing them on costs little, few enough that all
// threads have something to do. `share`: samples of a rank's batch; 0: there are no batches. Pure.
std::int64_t run_length(std::size_t sample_bytes, std::int64_t share, int threads);

struct IssuerOptions {
  std::string name;  // of the source, for messages
  IndexView view;
  std::uint64_t draw_seed = 0;            // of augmentation
  std::optional<BatchPlan> batches = {};  // none: samples by themselves
  int rank = 0, ranks = 1;                // who gets which part of a batch
  Position start = {};
  std::int64_t end_epoch = 1;           // the first that is not read any more
  std::int64_t length = 1;              // of a run
  std::size_t ahead = 2;                // batches that may be in the making or ready
  std::optional<SampleKind> kind = {};  // of samples that are written in place, into the memory of their batch
  bool filled_once = false;             // what the memory of a batch holds is as good as any sample
  int device = device::kHost;           // a GPU that is to read batches by itself: their memory is pinned
  bool measured = false;                // what becomes of samples is known only when it is there: see settle()
  // The memory that a sample takes on its way, in place or not; nothing: none.
  std::function<std::size_t(std::int64_t index)> bytes = {};
};

// Where a pipeline begins: says which samples are next, opens batches, and waits when there is no room for more.
class Issuer : public Stream {
 public:
  // FAILS WITH: BadInput for a batch, rank or position that cannot be, or that memory cannot hold.
  Issuer(IssuerOptions options, Budget& budget, std::stop_token stop);
  ~Issuer() override { group_.reset(); }  // it gives its slot back, to us

  std::optional<Run> next() override;
  std::chrono::nanoseconds waited_for_room() const override { return waited_; }

  // From any thread:
  void set_ahead(std::size_t batches);
  // The time in which no batch could be begun, since as many as may be were not taken yet.
  std::chrono::nanoseconds waited_for_turn() const {
    return std::chrono::nanoseconds(waited_for_turn_.load(std::memory_order_relaxed));
  }
  // The samples of a run, which took `before` bytes, have become `after`: so may the next ones.
  void settle(Run& run, std::size_t before, std::size_t after);
  // The place of a sample in an epoch's order, as a draw. For samples that stand in for bad ones.
  Draw draw_at(std::int64_t epoch, std::int64_t position) const;
  std::int64_t size() const { return options_.view.size(); }
  std::size_t group_bytes() const;  // of the largest batch

 private:
  bool open_group();  // false: all is over
  Batch::Facts facts_at(const Position& at) const;
  std::optional<Run> next_of_group();
  std::optional<Run> next_alone();
  std::int64_t length_alone();
  bool fill(Run& run, std::int64_t begin, std::int64_t end);
  bool wait_for_turn();
  std::size_t stored_bytes(std::int64_t index) const;
  void release_slot();
  std::optional<Budget::Reservation> acquire(std::size_t bytes);

  const IssuerOptions options_;
  Budget& budget_;
  const std::stop_token stop_;
  const std::shared_ptr<detail::BufferPool> pool_;

  // --- who calls next()
  Position at_;
  std::int64_t looked_up_ = -1;  // the epoch that lookup_ is for
  IndexView::Lookup lookup_;
  std::shared_ptr<Group> group_;
  std::int64_t issued_ = 0;        // samples of the group
  std::size_t granted_ = 0;        // bytes that its runs were given
  std::size_t granted_items_ = 0;  // how many they are
  std::chrono::nanoseconds waited_{0};
  std::atomic<std::int64_t> waited_for_turn_{0};  // ns

  Mutex mutex_;
  std::condition_variable_any room_;
  std::size_t open_ RONDE_GUARDED_BY(mutex_) = 0;
  std::size_t ahead_ RONDE_GUARDED_BY(mutex_);
  std::size_t most_each_ RONDE_GUARDED_BY(mutex_) = 0;  // bytes that a sample has taken so far, at the most
  bool probed_ RONDE_GUARDED_BY(mutex_) = false;        // a run has been sent to find that out
  bool unknown_ RONDE_GUARDED_BY(mutex_);               // nothing was settled yet
};

}  // namespace ronde::data
