// Three ways, by size and by where the memory lies:
//
//   small    everyone shows all, everyone reduces all: one meeting. Bytes read grow with the members, so it is small.
//   direct   everyone's memory is in an arena: a member reduces its slice of all memories and writes the result into
//   all
//            of them. No copy at all; a meeting before and one after.
//   staged   ordinary memory: in chunks, everyone shows the slices that others reduce, reduces its own, and collects
//   the
//            others' results. Chunks are small enough that what passes between ranks stays in cache.
#include "ronde/comm/link/shm_allreduce.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "ronde/comm/detail/reduce.h"

namespace ronde::comm::detail {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kSmallTotal = 64 << 10;  // above, reading everything of everyone costs more than two meetings
constexpr std::size_t kBlockBytes = 32 << 10;  // a result is still in the first cache when it is copied to the peers
constexpr std::uint64_t kNotShared = ~std::uint64_t{0};

struct Range {
  std::size_t begin, end;
  std::size_t size() const { return end - begin; }
};

// What member `member` reduces of `bytes`: whole cache lines, so that no two members write into one.
Range slice(std::size_t bytes, int member, int members) {
  const std::size_t lines = (bytes + kLine - 1) / kLine, count = static_cast<std::size_t>(members);
  const auto border = [&](std::size_t i) { return std::min(bytes, lines * i / count * kLine); };
  const auto index = static_cast<std::size_t>(member);
  return {border(index), border(index + 1)};
}

using Inputs = std::vector<const std::byte*>;

void reduce_bytes(const Reduction& reduction, std::byte* out, const Inputs& inputs, std::size_t bytes) {
  reduce(reduction.dtype, reduction.op, out, inputs, bytes / size_of(reduction.dtype), reduction.scale);
}

Task small_allreduce(Channel& channel, Segments data, Reduction reduction) {
  const std::uint64_t round = channel.rounds++;
  std::byte* shown = channel.mine().small[round % 2].data();
  data.for_range(0, data.size(), [&](std::span<std::byte> piece, std::size_t at) {
    std::memcpy(shown + at, piece.data(), piece.size());
  });
  channel.raise(channel.mine().published, round + 1);
  for (int member = 0; member < channel.size(); ++member) co_await reaches(channel.area(member).published, round + 1);
  data.for_range(0, data.size(), [&](std::span<std::byte> piece, std::size_t at) {
    Inputs inputs;
    for (int member = 0; member < channel.size(); ++member)
      inputs.push_back(channel.area(member).small[round % 2].data() + at);
    reduce_bytes(reduction, piece.data(), inputs, piece.size());
  });
}

// `memories` by member: where each one's data lies in my address space.
void reduce_slice_everywhere(const std::vector<std::byte*>& memories, int me, Range range, const Reduction& reduction) {
  for (std::size_t at = range.begin; at < range.end; at += kBlockBytes) {
    const std::size_t bytes = std::min(kBlockBytes, range.end - at);
    Inputs inputs;
    for (const std::byte* memory : memories) inputs.push_back(memory + at);
    std::byte* out = memories[static_cast<std::size_t>(me)] + at;
    reduce_bytes(reduction, out, inputs, bytes);
    for (std::byte* memory : memories)
      if (memory + at != out) std::memcpy(memory + at, out, bytes);
  }
}

// One chunk of a staged allreduce. `number` counts chunks over the life of the channel, `range` is its part of the
// data.
class Chunk {
 public:
  Chunk(Channel& channel, const Segments& data, const Reduction& reduction, std::uint64_t number, Range range)
      : channel_(channel), data_(data), reduction_(reduction), number_(number), range_(range) {}

  // Shows what others reduce. When? Nobody reads the buffer's last content any more: see ChannelArea.
  void fill() const {
    std::byte* staged = channel_.mine().staged[number_ % 2].data();
    for (int member = 0; member < channel_.size(); ++member) {
      if (member == channel_.rank()) continue;
      copy(part(member), [&](std::span<std::byte> piece, std::size_t at) {
        std::memcpy(staged + part(member).begin - range_.begin + at, piece.data(), piece.size());
      });
    }
    channel_.raise(channel_.mine().filled, number_ + 1);
  }

  // Reduces my slice, into my memory and for the others to collect. When? Everyone has filled.
  void reduce_mine() const {
    const Range mine = part(channel_.rank());
    std::byte* results = channel_.mine().results[number_ % 2].data();
    copy(mine, [&](std::span<std::byte> piece, std::size_t at) {
      Inputs inputs;
      for (int member = 0; member < channel_.size(); ++member)
        inputs.push_back(member == channel_.rank()
                             ? piece.data()
                             : channel_.area(member).staged[number_ % 2].data() + mine.begin - range_.begin + at);
      reduce_bytes(reduction_, piece.data(), inputs, piece.size());
      std::memcpy(results + at, piece.data(), piece.size());
    });
    channel_.raise(channel_.mine().reduced, number_ + 1);
  }

  // Takes the slice that `member` has reduced.
  void collect(int member) const {
    const std::byte* results = channel_.area(member).results[number_ % 2].data();
    copy(part(member),
         [&](std::span<std::byte> piece, std::size_t at) { std::memcpy(piece.data(), results + at, piece.size()); });
  }

  void drained() const { channel_.raise(channel_.mine().drained, number_ + 1); }

 private:
  Range part(int member) const {
    const Range inside = slice(range_.size(), member, channel_.size());
    return {range_.begin + inside.begin, range_.begin + inside.end};
  }
  template <class Use>
  void copy(Range range, Use use) const {
    data_.for_range(range.begin, range.end, use);
  }

  Channel& channel_;
  const Segments& data_;
  const Reduction& reduction_;
  std::uint64_t number_;
  Range range_;
};

Task staged_allreduce(Channel& channel, Segments data, Reduction reduction) {
  const std::uint64_t first = channel.chunks;
  const std::uint64_t count = (data.size() + kChunkBytes - 1) / kChunkBytes;
  channel.chunks += count;
  const auto chunk = [&](std::uint64_t k) {
    return Chunk(channel, data, reduction, first + k, {k * kChunkBytes, std::min(data.size(), (k + 1) * kChunkBytes)});
  };
  for (std::uint64_t k = 0; k <= count; ++k) {
    // One chunk ahead: while the others still fill theirs, there is something to do.
    if (k < count) {
      if (first + k >= 2)
        for (int member = 0; member < channel.size(); ++member)
          co_await reaches(channel.area(member).drained, first + k - 1);
      chunk(k).fill();
    }
    if (k == 0) continue;
    for (int member = 0; member < channel.size(); ++member) co_await reaches(channel.area(member).filled, first + k);
    chunk(k - 1).reduce_mine();
    for (int i = 1; i < channel.size(); ++i) {
      const int member = (channel.rank() + i) % channel.size();  // not all at the same one
      co_await reaches(channel.area(member).reduced, first + k);
      chunk(k - 1).collect(member);
    }
    chunk(k - 1).drained();
  }
}

Task large_allreduce(Channel& channel, Segments data, Reduction reduction) {
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
    co_await staged_allreduce(channel, data, reduction);
    co_return;
  }
  reduce_slice_everywhere(memories, channel.rank(), slice(data.size(), channel.rank(), channel.size()), reduction);
  co_await exchange(channel, {}, [](int, const std::byte*) {});
}

}  // namespace

Task shm_allreduce(Channel& channel, Segments data, Reduction reduction) {
  const std::size_t most = std::min(kSmallBytes, kSmallTotal / static_cast<std::size_t>(channel.size()));
  if (data.size() <= most) return small_allreduce(channel, std::move(data), reduction);
  return large_allreduce(channel, std::move(data), reduction);
}

}  // namespace ronde::comm::detail
