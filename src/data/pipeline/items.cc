#include "ronde/data/pipeline/items.h"

#include <algorithm>
#include <span>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/data/order/random.h"
#include "ronde/data/pipeline/stack.h"

namespace ronde::data {
namespace {

class Flatten : public ItemStream {
 public:
  Flatten(std::unique_ptr<Stream> runs, Gate* gate) : runs_(std::move(runs)), gate_(gate) {
    if (gate_) gate_->add_gatherer();
  }
  std::optional<Item> next() override {
    while (at_ == run_.items.size()) {
      if (run_.failure) std::rethrow_exception(run_.failure);
      run_ = {};  // gives its memory back before more is waited for
      at_ = 0;
      auto run = ask();
      if (!run) return {};
      run_ = std::move(*run);
      run_.place.keep();
    }
    Item item = std::move(run_.items[at_++]);
    if (run_.place) item.place = std::move(run_.place);  // such runs have one item
    return item;
  }

 private:
  std::optional<Run> ask() {
    const Gate::Asking asking(gate_);
    return runs_->next();
  }

  const std::unique_ptr<Stream> runs_;
  Gate* const gate_;
  Run run_;
  std::size_t at_ = 0;
};

class Entered : public ItemStream {
 public:
  Entered(Items from, Gate& gate, std::stop_token stop) : from_(std::move(from)), gate_(gate), stop_(std::move(stop)) {}
  std::optional<Item> next() override {
    auto item = from_->next();
    if (!item) return {};
    // Once as a sample, once as the batch that it is copied to.
    auto place = gate_.enter(2 * item->sample.bytes(), stop_);
    if (!place) return {};
    item->place = std::move(*place);
    return item;
  }

 private:
  const Items from_;
  Gate& gate_;
  const std::stop_token stop_;
};

class SingleRuns : public Stream {
 public:
  explicit SingleRuns(Items items) : items_(std::move(items)) {}
  std::optional<Run> next() override {
    auto item = items_->next();
    if (!item) return {};
    Run run;
    run.place = std::move(item->place);
    run.items.push_back(std::move(*item));
    return run;
  }

 private:
  const Items items_;
};

class Generated : public ItemStream {
 public:
  Generated(std::function<NextSample(std::int64_t)> restart, std::uint64_t seed, std::int64_t epoch, std::int64_t end)
      : restart_(std::move(restart)), seed_(seed), epoch_(epoch), end_(end) {}
  std::optional<Item> next() override {
    while (epoch_ < end_) {
      if (!next_) next_ = restart_(epoch_);
      if (auto sample = next_())
        return Item{.position = index_, .draw = {seed_, epoch_, index_++}, .sample = std::move(*sample)};
      next_ = nullptr;
      if (index_ == 0) return {};  // an epoch without samples is followed by others like it
      index_ = 0;
      ++epoch_;
    }
    return {};
  }

 private:
  const std::function<NextSample(std::int64_t)> restart_;
  const std::uint64_t seed_;
  std::int64_t epoch_;
  const std::int64_t end_;
  NextSample next_;
  std::int64_t index_ = 0;
};

// Passes on those of which `keep` says so, by number in the epoch.
class Chosen : public ItemStream {
 public:
  using Keep = std::function<bool(std::int64_t number, const Item& item)>;
  Chosen(Items from, Keep keep) : from_(std::move(from)), keep_(std::move(keep)) {}
  std::optional<Item> next() override {
    while (auto item = from_->next()) {
      number_ = item->draw.epoch == epoch_ ? number_ + 1 : 0;
      epoch_ = item->draw.epoch;
      if (keep_(number_, *item)) return item;
    }
    return {};
  }

 private:
  const Items from_;
  const Keep keep_;
  std::int64_t epoch_ = -1, number_ = 0;
};

class Taken : public ItemStream {
 public:
  Taken(Items from, std::int64_t samples, std::int64_t last_epoch)
      : from_(std::move(from)), samples_(samples), last_(last_epoch) {}
  std::optional<Item> next() override {
    while (samples_ > 0 && !(epoch_ == last_ && count_ >= samples_)) {
      auto item = from_->next();
      if (!item) return {};
      count_ = item->draw.epoch == epoch_ ? count_ + 1 : 1;
      epoch_ = item->draw.epoch;
      if (count_ <= samples_) return item;
    }
    return {};
  }

 private:
  const Items from_;
  const std::int64_t samples_, last_;
  std::int64_t epoch_ = -1, count_ = 0;
};

class Shuffled : public ItemStream {
 public:
  Shuffled(Items from, std::size_t samples, std::uint64_t seed)
      : from_(std::move(from)), samples_(samples), seed_(seed) {}
  std::optional<Item> next() override {
    while (buffer_.size() < samples_ && !over_) {
      if (!ahead_) ahead_ = from_->next();
      if (!ahead_ || (!buffer_.empty() && ahead_->draw.epoch != buffer_.front().draw.epoch)) {
        over_ = true;  // an epoch is given out before the next one comes in
        break;
      }
      buffer_.push_back(std::move(*ahead_));
      ahead_.reset();
    }
    if (buffer_.empty()) return {};
    const std::int64_t epoch = buffer_.front().draw.epoch;
    if (epoch != epoch_) drawn_ = 0;
    epoch_ = epoch;
    Random random(seed_, static_cast<std::uint64_t>(epoch), drawn_++);
    std::swap(buffer_[random.below(buffer_.size())], buffer_.back());
    Item item = std::move(buffer_.back());
    buffer_.pop_back();
    if (buffer_.empty()) over_ = false;
    return item;
  }

 private:
  const Items from_;
  const std::size_t samples_;
  const std::uint64_t seed_;
  std::vector<Item> buffer_;  // of one epoch
  std::optional<Item> ahead_;
  bool over_ = false;
  std::int64_t epoch_ = -1;
  std::uint64_t drawn_ = 0;
};

class Interleaved : public ItemStream {
 public:
  Interleaved(Items from, OpenInner open, std::size_t cycle)
      : from_(std::move(from)), open_(std::move(open)), cycle_(cycle) {}
  std::optional<Item> next() override {
    while (true) {
      refill();
      if (inner_.empty()) return {};
      if (turn_ >= inner_.size()) turn_ = 0;
      Inner& inner = inner_[turn_];
      if (auto sample = inner.next()) {
        ++turn_;
        Item item{.position = inner.count, .draw = inner.outer, .sample = std::move(*sample)};
        const auto of =
            mix(static_cast<std::uint64_t>(item.draw.index) + 1) + static_cast<std::uint64_t>(inner.count++);
        item.draw.index = static_cast<std::int64_t>(mix(of) >> 1);
        return item;
      }
      inner_.erase(inner_.begin() + static_cast<std::ptrdiff_t>(turn_));
    }
  }

 private:
  struct Inner {
    std::function<std::optional<Sample>()> next;
    Draw outer;
    std::int64_t count = 0;
  };
  // Epochs are not mixed: one that has come to its end is given out first.
  void refill() {
    while (inner_.size() < cycle_) {
      if (!ahead_) ahead_ = from_->next();
      if (!ahead_ || (!inner_.empty() && ahead_->draw.epoch != inner_.front().outer.epoch)) return;
      inner_.push_back({.next = open_(*ahead_), .outer = ahead_->draw});
      ahead_.reset();
    }
  }

  const Items from_;
  const OpenInner open_;
  const std::size_t cycle_;
  std::vector<Inner> inner_;
  std::size_t turn_ = 0;
  std::optional<Item> ahead_;
};

class Unbatched : public ItemStream {
 public:
  Unbatched(std::unique_ptr<Stream> batches, Gate* gate) : batches_(std::move(batches)), gate_(gate) {
    if (gate_) gate_->add_gatherer();
  }
  std::optional<Item> next() override {
    while (at_ == singles_.size()) {
      batch_ = {};  // gives its memory back before more is waited for
      auto run = ask();
      if (!run) return {};
      batch_ = std::move(*run);
      batch_.place.keep();
      outer_ = batch_.items.front().draw;
      singles_ = unstack(batch_.items.front().sample);
      first_ = batch_.group ? batch_.group->facts.local.begin : 0;
      at_ = 0;
    }
    Item item{.position = first_ + static_cast<std::int64_t>(at_), .draw = outer_, .sample = std::move(singles_[at_])};
    item.draw.index = item.position;
    ++at_;
    return item;
  }

 private:
  std::optional<Run> ask() {
    const Gate::Asking asking(gate_);
    return batches_->next();
  }

  const std::unique_ptr<Stream> batches_;
  Gate* const gate_;
  Run batch_;
  std::vector<Sample> singles_;
  Draw outer_;
  std::int64_t first_ = 0;
  std::size_t at_ = 0;
};

class Batched : public Stream {
 public:
  Batched(Items from, const steps::BatchUp& batch, Position start)
      : from_(std::move(from)), batch_(batch), at_(start) {}

  std::optional<Run> next() override {
    while (true) {
      std::vector<Item> items = gather();
      if (items.empty()) return {};
      const std::int64_t epoch = items.front().draw.epoch;
      if (epoch != at_.epoch) at_ = {epoch, 0, at_.seed};
      const auto size = std::ssize(items);
      if (size < batch_.samples && batch_.last == steps::Last::Drop) continue;
      auto group = std::make_shared<Group>();
      group->facts.epoch = epoch;
      group->facts.global = {at_.position, at_.position + size};
      group->facts.local = share(group->facts.global, batch_.part.rank, batch_.part.ranks);
      at_.position += size;
      group->facts.after = at_;
      const auto first = group->facts.local.begin - group->facts.global.begin;
      Run run{.group = group, .closes = true};
      for (Item& item : std::span(items).subspan(static_cast<std::size_t>(first),
                                                 static_cast<std::size_t>(group->facts.local.size()))) {
        run.place.take(std::move(item.place));
        run.items.push_back(std::move(item));
      }
      return run;
    }
  }

 private:
  std::vector<Item> gather() {
    std::vector<Item> items;
    while (std::ssize(items) < batch_.samples) {
      if (!ahead_) ahead_ = from_->next();
      if (!ahead_ || (!items.empty() && ahead_->draw.epoch != items.front().draw.epoch)) break;
      items.push_back(std::move(*ahead_));
      ahead_.reset();
    }
    return items;
  }

  const Items from_;
  const steps::BatchUp batch_;
  Position at_;
  std::optional<Item> ahead_;
};

}  // namespace

Items flatten(std::unique_ptr<Stream> runs, Gate* gate) {
  return std::make_unique<Flatten>(std::move(runs), gate);
}

Items entered(Items from, Gate& gate, std::stop_token stop) {
  return std::make_unique<Entered>(std::move(from), gate, std::move(stop));
}

std::unique_ptr<Stream> single_runs(Items items) {
  return std::make_unique<SingleRuns>(std::move(items));
}

Items generated(std::function<NextSample(std::int64_t)> restart, std::uint64_t seed, std::int64_t epoch,
                std::int64_t end_epoch) {
  return std::make_unique<Generated>(std::move(restart), seed, epoch, end_epoch);
}

Items filtered(Items from, std::function<bool(const Sample&)> keep) {
  return std::make_unique<Chosen>(
      std::move(from), [keep = std::move(keep)](std::int64_t, const Item& item) { return keep(item.sample); });
}

Items taken(Items from, std::int64_t samples, std::int64_t last_epoch) {
  return std::make_unique<Taken>(std::move(from), samples, last_epoch);
}

Items skipped(Items from, std::int64_t samples) {
  return std::make_unique<Chosen>(std::move(from),
                                  [samples](std::int64_t number, const Item&) { return number >= samples; });
}

Items sharded(Items from, int rank, int ranks) {
  return std::make_unique<Chosen>(std::move(from),
                                  [rank, ranks](std::int64_t number, const Item&) { return number % ranks == rank; });
}

Items without_first(Items from, std::int64_t epoch, std::int64_t samples) {
  return std::make_unique<Chosen>(std::move(from), [epoch, samples](std::int64_t number, const Item& item) {
    return item.draw.epoch != epoch || number >= samples;
  });
}

Items shuffled(Items from, std::size_t samples, std::uint64_t seed) {
  return std::make_unique<Shuffled>(std::move(from), samples, seed);
}

Items interleaved(Items from, OpenInner open, std::size_t cycle) {
  return std::make_unique<Interleaved>(std::move(from), std::move(open), cycle);
}

Items unbatched(std::unique_ptr<Stream> batches, Gate* gate) {
  return std::make_unique<Unbatched>(std::move(batches), gate);
}

std::unique_ptr<Stream> batched(Items from, const steps::BatchUp& batch, Position start) {
  return std::make_unique<Batched>(std::move(from), batch, start);
}

}  // namespace ronde::data
