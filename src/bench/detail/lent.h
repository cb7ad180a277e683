#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ronde/comm/bootstrap.h"

namespace ronde::bench::detail {

// A bootstrap that somebody else keeps: an engine owns its own, and a benchmark makes several on one, or talks through
// the same one between turns.
class Lent : public comm::Bootstrap {
 public:
  explicit Lent(std::shared_ptr<comm::Bootstrap> from) : from_(std::move(from)) {}
  int rank() const override { return from_->rank(); }
  int size() const override { return from_->size(); }
  std::vector<std::string> exchange(const std::string& mine, Deadline until) override {
    return from_->exchange(mine, until);
  }
  std::shared_ptr<comm::detail::Transport> transport() override { return from_->transport(); }

 private:
  std::shared_ptr<comm::Bootstrap> from_;
};

}  // namespace ronde::bench::detail
