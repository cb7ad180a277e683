#include "ronde/comm/testing/thread_gpus.h"

#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/system/clock.h"
#include "ronde/base/text/format.h"
#include "ronde/comm/math/reduce.h"

namespace ronde::comm::tests {

using detail::Bytes;
using detail::ConstBytes;
using Gifts = std::vector<ConstBytes>;  // of one member

// Where the members of one communicator meet.
struct ThreadGpus::Meeting {
  explicit Meeting(int members) : gifts(static_cast<std::size_t>(members)) {}

  // Until all members are here. FAILS WITH: System when one has gone, or has given up.
  void wait_for_all() {
    Lock lock(mutex);
    const std::uint64_t mine = rounds;
    if (++here == static_cast<int>(gifts.size())) {
      here = 0;
      ++rounds;
      changed.notify_all();
    }
    changed.wait(lock, [&]() RONDE_REQUIRES(mutex) { return rounds != mine || !broken.empty() || gone; });
    if (rounds == mine) throw Error(Error::Kind::System, broken.empty() ? "a member left" : broken);
  }

  Mutex mutex;
  Condition changed;
  int connected RONDE_GUARDED_BY(mutex) = 0;
  int here RONDE_GUARDED_BY(mutex) = 0;
  std::uint64_t rounds RONDE_GUARDED_BY(mutex) = 0;
  std::string broken RONDE_GUARDED_BY(mutex);  // why nothing goes any more
  bool gone RONDE_GUARDED_BY(mutex) = false;   // a member has
  std::vector<std::shared_ptr<const Gifts>> gifts;
};

class ThreadGpus::Link final : public detail::DeviceLink {
 public:
  Link(ThreadGpus& all, std::shared_ptr<Meeting> meeting, detail::NcclOptions options)
      : all_(all), meeting_(std::move(meeting)), options_(std::move(options)) {
    ++all_.links_;
    const Lock lock(meeting_->mutex);
    ++meeting_->connected;
  }
  ~Link() override {
    --all_.links_;
    const Lock lock(meeting_->mutex);
    meeting_->gone = true;
    meeting_->changed.notify_all();
  }

  bool ready() override {
    check();
    const Lock lock(meeting_->mutex);
    if (meeting_->connected == options_.size) return true;
    if (monotonic_now() - begun_ < options_.deadline) return false;
    throw Error(Error::Kind::Timeout, fmt::format("NCCL set-up on {} is late", options_.place.to_words()));
  }

  void allreduce(std::span<const Piece> pieces, DType dtype, ReduceOp op, const device::Stream&) override {
    Gifts mine;
    std::vector<Bytes> out;
    for (const Piece& piece : pieces) {
      const std::size_t bytes = piece.count * size_of(dtype);
      mine.push_back({static_cast<const std::byte*>(piece.in), bytes});
      out.push_back({static_cast<std::byte*>(piece.out), bytes});
    }
    exchange(std::move(mine), out, [&](std::size_t i, Bytes to) { reduce_all(i, to, dtype, op); });
  }
  void reduce(ConstBytes data, Bytes out, int root, DType dtype, ReduceOp op, const device::Stream&) override {
    const std::vector<Bytes> mine = root == options_.rank ? std::vector{out} : std::vector<Bytes>();
    exchange({data}, mine, [&](std::size_t i, Bytes to) { reduce_all(i, to, dtype, op); });
  }
  void reduce_scatter(const std::vector<ConstBytes>& send, Bytes out, DType dtype, ReduceOp op,
                      const device::Stream&) override {
    exchange(send, {out}, [&](std::size_t, Bytes to) { reduce_all(me(), to, dtype, op); });
  }
  void broadcast(void* data, std::size_t bytes, int root, const device::Stream&) override {
    const Bytes mine{static_cast<std::byte*>(data), bytes};
    exchange({mine}, {mine}, [&](std::size_t, Bytes to) { copy(static_cast<std::size_t>(root), 0, to); });
  }
  void allgather(ConstBytes mine, const std::vector<Bytes>& out, const device::Stream&) override {
    exchange({mine}, out, [&](std::size_t member, Bytes to) { copy(member, 0, to); });
  }
  void alltoall(const std::vector<ConstBytes>& send, const std::vector<Bytes>& out, const device::Stream&) override {
    exchange(send, out, [&](std::size_t member, Bytes to) { copy(member, me(), to); });
  }
  std::byte* make_registered(std::size_t bytes) override {
    return registered_.emplace_back(std::make_unique<std::byte[]>(bytes)).get();
  }

  void check() override {
    const Lock lock(meeting_->mutex);
    if (!meeting_->broken.empty()) throw Error(Error::Kind::System, meeting_->broken);
  }
  void abort() noexcept override {
    ++all_.aborts_;
    break_with(fmt::format("NCCL was aborted on {}", options_.place.to_words()));
  }

 private:
  std::size_t me() const { return static_cast<std::size_t>(options_.rank); }
  void break_with(std::string why) {
    const Lock lock(meeting_->mutex);
    if (meeting_->broken.empty()) meeting_->broken = std::move(why);
    meeting_->changed.notify_all();
  }
  void reduce_all(std::size_t piece, Bytes out, DType dtype, ReduceOp op) const {
    std::vector<const std::byte*> inputs;
    for (const auto& gifts : meeting_->gifts) inputs.push_back(gifts->at(piece).data());
    math::reduce(dtype, op, out.data(), inputs, out.size() / size_of(dtype),
                 op == ReduceOp::Average ? 1.0 / options_.size : 1.0);
  }
  void copy(std::size_t member, std::size_t piece, Bytes out) const {
    const ConstBytes from = meeting_->gifts[member]->at(piece);
    if (from.size() != out.size()) throw Error(Error::Kind::Bug, "members disagree about a size");
    if (!out.empty()) std::memcpy(out.data(), from.data(), out.size());
  }
  // Results are made while all members leave their memory alone, and written when none reads any more.
  void exchange(Gifts mine, const std::vector<Bytes>& out,
                const std::function<void(std::size_t piece, Bytes into)>& make) {
    if (options_.place.rank == all_.fails && all_.calls_ >= all_.from) {
      std::string why = fmt::format("NCCL on {}: it was told to fail", options_.place.to_words());
      break_with(why);
      throw Error(Error::Kind::System, std::move(why));
    }
    ++all_.calls_;
    meeting_->gifts[me()] = std::make_shared<const Gifts>(std::move(mine));
    meeting_->wait_for_all();
    std::vector<std::vector<std::byte>> made;
    try {
      for (std::size_t i = 0; i < out.size(); ++i) make(i, made.emplace_back(out[i].size()));
    } catch (const std::exception& error) {  // nobody is to wait for this one
      break_with(error.what());
      throw;
    }
    meeting_->wait_for_all();
    for (std::size_t i = 0; i < out.size(); ++i)
      if (!made[i].empty()) std::memcpy(out[i].data(), made[i].data(), made[i].size());
  }

  ThreadGpus& all_;
  const std::shared_ptr<Meeting> meeting_;
  const detail::NcclOptions options_;
  const std::chrono::nanoseconds begun_ = monotonic_now();
  std::vector<std::unique_ptr<std::byte[]>> registered_;
};

std::string ThreadGpus::make_id() {
  if (no_names) throw Error(Error::Kind::System, "NCCL has no names left");
  const Lock lock(mutex_);
  return fmt::format("communicator {}", ++ids_);
}

std::unique_ptr<detail::DeviceLink> ThreadGpus::make_link(detail::NcclOptions options) {
  if (options.place.rank == refused)
    throw Error(Error::Kind::System, fmt::format("NCCL set-up on {} was refused", options.place.to_words()));
  const Lock lock(mutex_);
  std::shared_ptr<Meeting> meeting = meetings_[options.id].lock();
  if (!meeting) meetings_[options.id] = meeting = std::make_shared<Meeting>(options.size);
  return std::make_unique<Link>(*this, std::move(meeting), std::move(options));
}

}  // namespace ronde::comm::tests
