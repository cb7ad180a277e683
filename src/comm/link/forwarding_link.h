#pragma once

#include <utility>

#include "ronde/comm/link/link.h"

namespace ronde::comm::detail {

// A link that does some things in its own way, and all others as another one does.
// REQUIRES: that one outlives it.
class ForwardingLink : public Link {
 public:
  explicit ForwardingLink(Link& link) : link_(link) {}

  int rank() const override { return link_.rank(); }
  int size() const override { return link_.size(); }
  bool near() const override { return link_.near(); }
  bool begun() const override { return link_.begun(); }
  bool refused() const override { return link_.refused(); }
  std::vector<int> silent() const override { return link_.silent(); }
  int ask_silent() override { return link_.ask_silent(); }
  void wake(const std::vector<int>& members) const override { link_.wake(members); }
  using Link::combine;
  Task combine(std::span<std::uint64_t> words, bool summons) override { return link_.combine(words, summons); }
  Task spread(std::string& bytes, int from) override { return link_.spread(bytes, from); }
  Task tell(std::string mine, std::vector<std::string>& all) override { return link_.tell(std::move(mine), all); }
  void finish_round() override { link_.finish_round(); }
  void finish_bucket() override { link_.finish_bucket(); }
  std::uint64_t rounds_of(int member) const override { return link_.rounds_of(member); }
  std::uint64_t buckets_of(int member) const override { return link_.buckets_of(member); }
  Traffic traffic() const override { return link_.traffic(); }
  void heard(int from, const GroupNote& said) override { link_.heard(from, said); }
  void left(int member, std::uint64_t rounds, std::uint64_t buckets) override { link_.left(member, rounds, buckets); }
  std::vector<std::string> algorithms() const override { return link_.algorithms(); }
  void use_algorithm(std::size_t index) override { link_.use_algorithm(index); }
  Task barrier() override { return link_.barrier(); }
  Task share(std::vector<std::uint64_t> mine, std::vector<std::uint64_t>& all) override {
    return link_.share(std::move(mine), all);
  }
  Task swap(std::vector<std::uint64_t> mine, std::vector<std::uint64_t>& theirs) override {
    return link_.swap(std::move(mine), theirs);
  }

 protected:
  Link& link_;
};

}  // namespace ronde::comm::detail
