#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "ronde/data/pipeline/run.h"

namespace ronde::data {

// Puts the runs of a batch together: what comes out are whole batches, with all their items.
class Collect : public Stream {
 public:
  explicit Collect(std::unique_ptr<Stream> from) : from_(std::move(from)) {}

  std::optional<Run> next() override {
    auto whole = from_->next();
    while (whole && !whole->closes) {
      auto more = from_->next();
      if (!more) return {};
      std::move(more->items.begin(), more->items.end(), std::back_inserter(whole->items));
      whole->closes = more->closes;
      whole->reservation.take(std::move(more->reservation));
    }
    return whole;
  }

 private:
  const std::unique_ptr<Stream> from_;
};

}  // namespace ronde::data
