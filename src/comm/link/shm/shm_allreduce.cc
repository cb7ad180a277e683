// Three ways, by size and by where the memory lies:
//
//   small    everyone shows all, everyone reduces all: one meeting. Bytes read grow with the members, so it is small.
//   direct   everyone's memory is in an arena: a member reduces its slice of all memories and writes the result into
//            all of them. No copy at all; a meeting before and one after.
//   staged   ordinary memory, in chunks: everyone shows in its area what others reduce, reduces its slice of all areas
//            in place, and takes what the others have made of its own. One chunk is being reduced while another is
//            being turned over; both stay in cache.
//
// Reading a peer's memory through the kernel (process_vm_readv) would save the copy into the area, and lost: 10 GB/s
// from pages of 4 KiB, where the copy makes 43 and reading it from the other core 41.
#include "ronde/comm/link/shm/shm_allreduce.h"

#include <algorithm>
#include <cstring>

#include "ronde/comm/math/reduce.h"
#include "ronde/comm/math/reduce_into_all.h"

namespace ronde::comm::detail {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kSmallTotal = 64 << 10;  // above, reading everything of everyone costs more than two meetings
constexpr std::size_t kTurnBytes = 8 << 10;    // taken out of an area and shown in its place while in the first cache
constexpr std::uint64_t kNotShared = ~std::uint64_t{0};

struct Range {
  std::size_t begin, end;
  std::size_t size() const { return end - begin; }
  Range from(std::size_t offset, std::size_t bytes) const {
    return {std::min(end, begin + offset), std::min(end, begin + offset + bytes)};
  }
};

// What member `member` reduces of `bytes`: whole cache lines, so that no two members write into one.
Range slice(std::size_t bytes, int member, int members) {
  const std::size_t lines = (bytes + kLine - 1) / kLine, count = static_cast<std::size_t>(members);
  const auto border = [&](std::size_t i) { return std::min(bytes, lines * i / count * kLine); };
  const auto index = static_cast<std::size_t>(member);
  return {border(index), border(index + 1)};
}

// Copies a range of `data` to `room`, or from there.
void copy(std::byte* room, const Segments& data, Range from) {
  data.for_range(from.begin, from.end, [&](std::span<std::byte> piece, std::size_t at) {
    std::memcpy(room + at, piece.data(), piece.size());
  });
}
void copy(const Segments& data, Range to, const std::byte* room) {
  data.for_range(to.begin, to.end, [&](std::span<std::byte> piece, std::size_t at) {
    std::memcpy(piece.data(), room + at, piece.size());
  });
}

Task small_allreduce(Channel& channel, Segments data, math::Reduction reduction) {
  const std::uint64_t round = channel.rounds++;
  const auto shown = [&](int member) { return channel.area(member).small[round % 2].data(); };
  copy(shown(channel.rank()), data, {0, data.size()});
  channel.raise(channel.mine().published, round + 1);
  for (int member = 0; member < channel.size(); ++member) co_await reaches(channel.area(member).published, round + 1);
  std::vector<const std::byte*> inputs(static_cast<std::size_t>(channel.size()));
  data.for_range(0, data.size(), [&](std::span<std::byte> piece, std::size_t at) {
    for (int member = 0; member < channel.size(); ++member)
      inputs[static_cast<std::size_t>(member)] = member == channel.rank() ? piece.data() : shown(member) + at;
    math::reduce(reduction.dtype, reduction.op, piece.data(), inputs, piece.size() / size_of(reduction.dtype),
                 reduction.scale);
  });
  // See ChannelArea on writing back. With more members, lines have more readers, and none may write.
  if (channel.size() != 2) co_return;
  std::byte* theirs = shown(1 - channel.rank());
  for (std::size_t at = 0; at < data.size(); at += kLine) theirs[at] = {};
}

// An allreduce of ordinary memory. A chunk of it has a lane in every area for each member: the owner shows there what
// the member shall reduce, and finds there what it has made of it.
class Staging {
 public:
  Staging(Channel& channel, const Segments& data, const math::Reduction& reduction)
      : channel_(channel),
        data_(data),
        reduction_(reduction),
        lane_bytes_(kChunkBytes / static_cast<std::size_t>(channel.size()) / kLine * kLine),
        chunk_bytes_(lane_bytes_ * static_cast<std::size_t>(channel.size())),
        first_(channel.chunks),
        memories_(static_cast<std::size_t>(channel.size())) {
    channel_.chunks += chunks();
  }

  std::uint64_t chunks() const { return (data_.size() + chunk_bytes_ - 1) / chunk_bytes_; }
  // The value of a counter that has gone through so many of our chunks.
  std::uint64_t count(std::uint64_t chunks) const { return first_ + chunks; }

  // Shows `member` what it shall reduce of chunk `next`, in place of chunk `next` - 2, whose results are taken out of
  // there first. Chunks before the first and after the last are empty.
  void turn(int member, std::uint64_t next) const {
    const Range out = part(next - 2, member), in = part(next, member);
    std::byte* room = lane(channel_.rank(), member, next);
    const std::size_t all = std::max(out.size(), in.size());
    const std::size_t bytes = out.size() > 0 && in.size() > 0 ? kTurnBytes : all;
    for (std::size_t at = 0; at < all; at += bytes) {
      copy(data_, out.from(at, bytes), room + at);
      copy(room + at, data_, in.from(at, bytes));
    }
  }

  // Reduces my slice, in my memory and in everyone's area.
  void reduce_mine(std::uint64_t chunk) {
    const Range mine = part(chunk, channel_.rank());
    data_.for_range(mine.begin, mine.end, [&](std::span<std::byte> piece, std::size_t at) {
      for (int member = 0; member < channel_.size(); ++member)
        memories_[static_cast<std::size_t>(member)] =
            member == channel_.rank() ? piece.data() : lane(member, channel_.rank(), chunk) + at;
      math::reduce_into_all(reduction_, memories_, piece.size());
    });
  }

 private:
  Range part(std::uint64_t chunk, int member) const {
    if (chunk >= chunks()) return {0, 0};
    const std::size_t begin = chunk * chunk_bytes_;
    const Range inside = slice(std::min(chunk_bytes_, data_.size() - begin), member, channel_.size());
    return {begin + inside.begin, begin + inside.end};
  }
  std::byte* lane(int owner, int member, std::uint64_t chunk) const {
    return channel_.area(owner).staged[count(chunk) % 2].data() + static_cast<std::size_t>(member) * lane_bytes_;
  }

  Channel& channel_;
  const Segments& data_;
  const math::Reduction& reduction_;
  std::size_t lane_bytes_, chunk_bytes_;
  std::uint64_t first_;
  std::vector<std::byte*> memories_;
};

// REQUIRES: nobody is in an earlier operation of the channel any more.
Task staged_allreduce(Channel& channel, Segments data, math::Reduction reduction) {
  Staging staging(channel, data, reduction);
  ChannelArea& mine = channel.mine();
  const auto other = [&](int i) { return (channel.rank() + i) % channel.size(); };  // not all begin at the same one
  for (int i = 1; i < channel.size(); ++i) staging.turn(other(i), 0);
  channel.raise(mine.filled, staging.count(1));
  for (std::uint64_t k = 0; k <= staging.chunks(); ++k) {
    if (k < staging.chunks()) {
      for (int i = 1; i < channel.size(); ++i) co_await reaches(channel.area(other(i)).filled, staging.count(k + 1));
      staging.reduce_mine(k);
      channel.raise(mine.reduced, staging.count(k + 1));
    }
    for (int i = 1; i < channel.size(); ++i) {
      if (k > 0) co_await reaches(channel.area(other(i)).reduced, staging.count(k));
      staging.turn(other(i), k + 1);
    }
    if (k + 1 < staging.chunks()) channel.raise(mine.filled, staging.count(k + 2));
  }
  channel.raise(mine.drained, staging.count(staging.chunks()));
}

Task large_allreduce(Channel& channel, Segments data, math::Reduction reduction) {
  // Where my memory lies in my arena, if it does.
  std::uint64_t offset = kNotShared;
  if (const std::byte* memory = data.contiguous())
    offset = channel.node().arena().offset_of(memory, data.size()).value_or(kNotShared);
  std::vector<std::byte*> memories;
  const auto collect = [&](int member, const std::byte* shown) {
    std::uint64_t theirs = 0;
    std::memcpy(&theirs, shown, sizeof(theirs));
    if (theirs != kNotShared) memories.push_back(channel.node().base(channel.node_rank(member)) + theirs);
  };
  co_await exchange(channel, std::as_bytes(std::span(&offset, 1)), collect);
  if (std::ssize(memories) < channel.size()) {
    co_await staged_allreduce(channel, std::move(data), reduction);
    co_return;
  }
  const Range mine = slice(data.size(), channel.rank(), channel.size());
  for (std::byte*& memory : memories) memory += mine.begin;
  math::reduce_into_all(reduction, memories, mine.size());
  co_await exchange(channel, {}, [](int, const std::byte*) {});
}

}  // namespace

Task shm_allreduce(Channel& channel, Segments data, math::Reduction reduction) {
  const std::size_t most = std::min(kSmallBytes, kSmallTotal / static_cast<std::size_t>(channel.size()));
  if (data.size() <= most) return small_allreduce(channel, std::move(data), reduction);
  return large_allreduce(channel, std::move(data), reduction);
}

}  // namespace ronde::comm::detail
