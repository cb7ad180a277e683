#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ronde/comm/link/forwarding_link.h"
#include "ronde/comm/link/transport.h"

// Links and transports that fail where a test wants them to.
namespace ronde::comm::tests {

// Fails the n-th call of one kind, from all links and transports together, and those after it.
class Injection {
 public:
  Injection(std::string call, int number) : call_(std::move(call)), number_(number) {}
  void passes(const char* call) {
    if (call == call_ && ++calls_ >= number_) throw std::runtime_error("injected into " + call_);
  }
  bool has_failed() const { return calls_ >= number_; }

 private:
  const std::string call_;
  const int number_;
  std::atomic<int> calls_ = 0;
};

class FailingLink final : public detail::ForwardingLink {
 public:
  FailingLink(std::unique_ptr<detail::Link> link, Injection& injection)
      : ForwardingLink(*link), owned_(std::move(link)), injection_(injection) {}

  bool begun() const override { return at("begun"), link_.begun(); }
  bool refused() const override { return at("refused"), link_.refused(); }
  std::vector<int> silent() const override { return at("silent"), link_.silent(); }
  int ask_silent() override { return at("ask_silent"), link_.ask_silent(); }
  void wake(const std::vector<int>& members) const override { at("wake"), link_.wake(members); }
  using Link::combine;
  detail::Task combine(std::span<std::uint64_t> words, bool summons) override {
    return at("combine"), link_.combine(words, summons);
  }
  detail::Task spread(std::string& bytes, int from) override { return at("spread"), link_.spread(bytes, from); }
  detail::Task tell(std::string mine, std::vector<std::string>& all) override {
    return at("tell"), link_.tell(std::move(mine), all);
  }
  void finish_round() override { at("finish_round"), link_.finish_round(); }
  void finish_bucket() override { at("finish_bucket"), link_.finish_bucket(); }
  std::uint64_t rounds_of(int member) const override { return at("rounds_of"), link_.rounds_of(member); }
  std::uint64_t buckets_of(int member) const override { return at("buckets_of"), link_.buckets_of(member); }
  void heard(int from, const detail::GroupNote& said) override { at("heard"), link_.heard(from, said); }
  void left(int member, std::uint64_t rounds, std::uint64_t buckets) override {
    at("left"), link_.left(member, rounds, buckets);
  }
  void use_algorithm(std::size_t index) override { at("use_algorithm"), link_.use_algorithm(index); }
  void copy_here(detail::Bytes to, detail::ConstBytes from) override { at("copy_here"), link_.copy_here(to, from); }
  detail::Task allreduce(detail::Segments data, math::Reduction reduction) override {
    return at("allreduce"), link_.allreduce(data, reduction);
  }
  detail::Task reduce(detail::ConstBytes data, detail::Bytes out, int root, math::Reduction reduction) override {
    return at("reduce"), link_.reduce(data, out, root, reduction);
  }
  detail::Task reduce_scatter(std::vector<detail::ConstBytes> send, detail::Bytes out,
                              math::Reduction reduction) override {
    return at("reduce_scatter"), link_.reduce_scatter(std::move(send), out, reduction);
  }
  detail::Task broadcast(detail::Bytes data, int root) override { return at("broadcast"), link_.broadcast(data, root); }
  detail::Task allgather(detail::ConstBytes mine, std::vector<detail::Bytes> out) override {
    return at("allgather"), link_.allgather(mine, std::move(out));
  }
  detail::Task alltoall(std::vector<detail::ConstBytes> send, std::vector<detail::Bytes> out) override {
    return at("alltoall"), link_.alltoall(std::move(send), std::move(out));
  }
  detail::Task barrier() override { return at("barrier"), link_.barrier(); }
  detail::Task share(std::vector<std::uint64_t> mine, std::vector<std::uint64_t>& all) override {
    return at("share"), link_.share(std::move(mine), all);
  }

 private:
  void at(const char* call) const { injection_.passes(call); }

  const std::unique_ptr<detail::Link> owned_;
  Injection& injection_;
};

// Carries data as another transport does, and fails as MPI does: at a call, or when it is asked what has come.
class FailingTransport final : public detail::Transport {
 public:
  FailingTransport(detail::Transport& transport, Injection& injection) : transport_(transport), injection_(injection) {}

  detail::PendingMessage send(int to, detail::Tag tag, detail::SharedBuffer buffer) override {
    injection_.passes("send");
    return transport_.send(to, tag, std::move(buffer));
  }
  detail::PendingMessage receive(int from, detail::Tag tag, detail::SharedBuffer buffer) override {
    injection_.passes("receive");
    under_way_ = true;
    return transport_.receive(from, tag, std::move(buffer));
  }
  bool pump() override {
    if (under_way_) injection_.passes("pump");
    return false;
  }
  bool must_be_pumped() const override { return under_way_; }

 private:
  detail::Transport& transport_;
  Injection& injection_;
  bool under_way_ = false;  // so that a failure comes in the middle of something
};

}  // namespace ronde::comm::tests
