#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "ronde/base/clock.h"
#include "ronde/comm/link/link.h"

namespace ronde::comm::detail {

// A link whose every operation begins later, for tests: what comes out must not depend on timing.
class DelayedLink final : public Link {
 public:
  DelayedLink(std::unique_ptr<Link> link, std::chrono::nanoseconds delay) : link_(std::move(link)), delay_(delay) {}

  int rank() const override { return link_->rank(); }
  int size() const override { return link_->size(); }
  bool begun() const override { return link_->begun(); }
  bool refused() const override { return link_->refused(); }
  std::vector<int> silent() const override { return link_->silent(); }
  void wake(const std::vector<int>& members) const override { link_->wake(members); }
  using Link::combine;
  Task combine(std::span<std::uint64_t> words, bool summons) override {
    return later([=, this] { return link_->combine(words, summons); });
  }
  Task spread(std::string& bytes, int from) override {
    return later([=, this, &bytes] { return link_->spread(bytes, from); });
  }
  Task tell(std::string mine, std::vector<std::string>& all) override {
    return later([=, this, &all] { return link_->tell(mine, all); });
  }
  void finish_round() override { link_->finish_round(); }
  void finish_bucket() override { link_->finish_bucket(); }
  std::uint64_t rounds_of(int member) const override { return link_->rounds_of(member); }
  std::uint64_t buckets_of(int member) const override { return link_->buckets_of(member); }
  Traffic traffic() const override { return link_->traffic(); }
  bool near() const override { return link_->near(); }
  void heard(int from, char kind, std::string_view content) override { link_->heard(from, kind, content); }
  void left(int member, std::uint64_t rounds, std::uint64_t buckets) override { link_->left(member, rounds, buckets); }
  std::vector<std::string> algorithms() const override { return link_->algorithms(); }
  void use_algorithm(std::size_t index) override { link_->use_algorithm(index); }
  Task allreduce(Segments data, Reduction reduction) override {
    return later([=, this] { return link_->allreduce(data, reduction); });
  }
  Task reduce(ConstBytes data, Bytes out, int root, Reduction reduction) override {
    return later([=, this] { return link_->reduce(data, out, root, reduction); });
  }
  Task reduce_scatter(std::vector<ConstBytes> send, Bytes out, Reduction reduction) override {
    return later([=, this] { return link_->reduce_scatter(send, out, reduction); });
  }
  Task broadcast(Bytes data, int root) override {
    return later([=, this] { return link_->broadcast(data, root); });
  }
  Task allgather(ConstBytes mine, std::vector<Bytes> out) override {
    return later([=, this] { return link_->allgather(mine, out); });
  }
  Task alltoall(std::vector<ConstBytes> send, std::vector<Bytes> out) override {
    return later([=, this] { return link_->alltoall(send, out); });
  }
  Task barrier() override {
    return later([this] { return link_->barrier(); });
  }
  Task share(std::vector<std::uint64_t> mine, std::vector<std::uint64_t>& all) override {
    return later([=, this, &all] { return link_->share(mine, all); });
  }

 private:
  template <class Begin>
  Task later(Begin begin) {
    const Deadline start = Deadline::after(delay_);
    co_await until([start] { return start.passed(); });
    co_await begin();
  }

  const std::unique_ptr<Link> link_;
  const std::chrono::nanoseconds delay_;
};

}  // namespace ronde::comm::detail
