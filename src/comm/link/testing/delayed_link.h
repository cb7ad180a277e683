#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "ronde/base/system/clock.h"
#include "ronde/comm/link/forwarding_link.h"

namespace ronde::comm::detail {

// A link whose every operation begins later, for tests: what comes out must not depend on timing.
class DelayedLink final : public ForwardingLink {
 public:
  DelayedLink(std::unique_ptr<Link> link, std::chrono::nanoseconds delay)
      : ForwardingLink(*link), owned_(std::move(link)), delay_(delay) {}

  using Link::combine;
  Task combine(std::span<std::uint64_t> words, bool summons) override {
    return later([=, this] { return link_.combine(words, summons); });
  }
  Task spread(std::string& bytes, int from) override {
    return later([=, this, &bytes] { return link_.spread(bytes, from); });
  }
  Task tell(std::string mine, std::vector<std::string>& all) override {
    return later([=, this, &all] { return link_.tell(mine, all); });
  }
  Task allreduce(Segments data, math::Reduction reduction) override {
    return later([=, this] { return link_.allreduce(data, reduction); });
  }
  Task reduce(ConstBytes data, Bytes out, int root, math::Reduction reduction) override {
    return later([=, this] { return link_.reduce(data, out, root, reduction); });
  }
  Task reduce_scatter(std::vector<ConstBytes> send, Bytes out, math::Reduction reduction) override {
    return later([=, this] { return link_.reduce_scatter(send, out, reduction); });
  }
  Task broadcast(Bytes data, int root) override {
    return later([=, this] { return link_.broadcast(data, root); });
  }
  Task allgather(ConstBytes mine, std::vector<Bytes> out) override {
    return later([=, this] { return link_.allgather(mine, out); });
  }
  Task alltoall(std::vector<ConstBytes> send, std::vector<Bytes> out) override {
    return later([=, this] { return link_.alltoall(send, out); });
  }
  Task barrier() override {
    return later([this] { return link_.barrier(); });
  }
  Task share(std::vector<std::uint64_t> mine, std::vector<std::uint64_t>& all) override {
    return later([=, this, &all] { return link_.share(mine, all); });
  }

 private:
  template <class Begin>
  Task later(Begin begin) {
    const Deadline start = Deadline::after(delay_);
    co_await until([start] { return start.passed(); });
    co_await begin();
  }

  const std::unique_ptr<Link> owned_;
  const std::chrono::nanoseconds delay_;
};

}  // namespace ronde::comm::detail
