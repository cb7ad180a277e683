#include "ronde/comm/execute/execute_adasum.h"

#include <algorithm>
#include <cstring>

#include "ronde/comm/execute/staging.h"
#include "ronde/comm/math/adasum.h"
#include "ronde/comm/math/convert.h"
#include "ronde/comm/math/reduce.h"

namespace ronde::comm::detail {
namespace {

// One bucket on its way. All its memory is one piece of scratch:
//
//   wire      everything as it travels, sorted by the member that computes it
//   received  my share, of every member in turn
//   values    the same in the type in which it is computed; that of f32 and f64 is what was received
class AdasumBucket {
 public:
  AdasumBucket(std::vector<Work> works, int members, int rank, Scratch& scratch)
      : works_(std::move(works)),
        members_(static_cast<std::size_t>(members)),
        rank_(static_cast<std::size_t>(rank)),
        wire_type_(wire_type(description())),
        value_type_(wire_type_ == DType::F64 ? DType::F64 : DType::F32) {
    std::vector<std::size_t> lengths;
    for (const Work& work : works_) lengths.push_back(work.description->shape.elements());
    shares_ = math::adasum_shares(lengths, members);
    for (const auto& share : shares_) {
      counts_.push_back(0);
      for (const math::AdasumPiece& piece : share) counts_.back() += piece.count;
      total_ += counts_.back();
    }
    for (const math::AdasumPiece& piece : shares_[rank_]) cut_ += piece.cut ? 1 : 0;
    const std::size_t wire = lined_up(total_ * wire_size());
    const std::size_t received = lined_up(mine() * members_ * wire_size());
    const bool widens = wire_type_ != value_type_;
    wire_ = scratch.take(wire + received + (widens ? mine() * members_ * value_size() : 0));
    received_ = wire_ + wire;
    values_ = widens ? received_ + received : received_;
  }

  bool empty() const { return total_ == 0; }
  std::size_t left() const { return vectors_.size(); }

  void load() {
    for (const Work& work : works_)
      if (work.ticket) work.ticket->result.output = in_place_output(work.ticket->request);
    for_pieces([this](const math::AdasumPiece& piece, std::byte* at) {
      const Work& work = works_[piece.vector];
      if (!work.ticket) {
        std::memset(at, 0, piece.count * wire_size());
        return;
      }
      const auto* input = static_cast<const std::byte*>(work.ticket->request.input.data);
      pack(at, input + piece.begin * size_of(work.description->dtype), piece.count, *work.description);
    });
  }

  // Everyone's part of the wire; and where that of mine arrives from everyone.
  template <class Part>
  std::vector<Part> wire() const {
    std::vector<Part> parts;
    std::byte* at = wire_;
    for (const std::size_t count : counts_) {
      parts.push_back({at, count * wire_size()});
      at += count * wire_size();
    }
    return parts;
  }
  std::vector<Bytes> received() const {
    std::vector<Bytes> parts;
    for (std::size_t member = 0; member < members_; ++member)
      parts.push_back({received_ + member * mine() * wire_size(), mine() * wire_size()});
    return parts;
  }

  void widen() {
    if (values_ != received_ && mine() > 0)
      math::convert(value_type_, values_, wire_type_, received_, mine() * members_);
    for (std::size_t member = 0; member < members_; ++member)
      vectors_.push_back(values_ + member * mine() * value_size());
  }

  // One step: first the products of all pairs, then their sums over members, then the vectors.
  void multiply_pairs() {
    products_.assign(left() / 2 * cut_, {});
    for_pairs([this](const math::AdasumPiece& piece, std::byte* a, const std::byte* b, std::size_t slot) {
      if (piece.cut) products_[slot] = math::multiply(value_type_, a, b, piece.count);
    });
  }
  std::span<math::Products> products() { return products_; }
  void add_pairs() {
    for_pairs([this](const math::AdasumPiece& piece, std::byte* a, const std::byte* b, std::size_t slot) {
      const math::Products products = piece.cut ? products_[slot] : math::multiply(value_type_, a, b, piece.count);
      math::add_adaptively(value_type_, a, b, piece.count, products);
    });
    for (std::size_t next = 1; 2 * next < left(); ++next) vectors_[next] = vectors_[2 * next];
    vectors_.resize((left() + 1) / 2);
  }

  ConstBytes result() {
    if (mine() == 0) return {};
    math::scale(value_type_, values_, mine(), reduction_of(description(), static_cast<int>(members_)).scale);
    if (values_ != received_) math::convert(wire_type_, received_, value_type_, values_, mine());
    return {received_, mine() * wire_size()};
  }

  void unload() {
    for_pieces([this](const math::AdasumPiece& piece, const std::byte* at) {
      const Work& work = works_[piece.vector];
      if (!work.ticket) return;
      auto* output = static_cast<std::byte*>(work.ticket->result.output.data);
      const DType dtype = work.description->dtype;
      math::convert(dtype, output + piece.begin * size_of(dtype), wire_type_, at, piece.count);
    });
  }

 private:
  const Description& description() const { return *works_.front().description; }
  std::size_t wire_size() const { return size_of(wire_type_); }
  std::size_t value_size() const { return size_of(value_type_); }
  std::size_t mine() const { return counts_[rank_]; }

  template <class Use>
  void for_pieces(Use use) {
    std::byte* at = wire_;
    for (const auto& share : shares_)
      for (const math::AdasumPiece& piece : share) {
        use(piece, at);
        at += piece.count * wire_size();
      }
  }

  // `slot`: where a cut piece has its products.
  template <class Use>
  void for_pairs(Use use) {
    std::size_t slot = 0;
    for (std::size_t pair = 0; pair < left() / 2; ++pair) {
      std::byte *a = vectors_[2 * pair], *b = vectors_[2 * pair + 1];
      for (const math::AdasumPiece& piece : shares_[rank_]) {
        use(piece, a, b, slot);
        slot += piece.cut ? 1 : 0;
        a += piece.count * value_size();
        b += piece.count * value_size();
      }
    }
  }

  const std::vector<Work> works_;
  const std::size_t members_, rank_;
  const DType wire_type_, value_type_;
  std::vector<std::vector<math::AdasumPiece>> shares_;  // by member
  std::vector<std::size_t> counts_;                     // elements of each share
  std::size_t total_ = 0, cut_ = 0;                     // elements; vectors that are cut
  std::byte *wire_ = nullptr, *received_ = nullptr, *values_ = nullptr;
  std::vector<std::byte*> vectors_;       // my share of those that are still to be combined; the first is the result
  std::vector<math::Products> products_;  // of this step, by pair and cut vector
};

// Everyone's products become their sums over all members, in the order of members: an allreduce of the link may sum in
// an order that depends on the number of bytes, and then fusion would show in the bits.
Task sum_in_order(Link& link, std::span<math::Products> values) {
  constexpr std::size_t kNumbers = sizeof(math::Products) / sizeof(double);
  constexpr std::size_t kMostAtOnce = 256 << 10;  // bytes of all members that everyone may get
  const auto members = static_cast<std::size_t>(link.size());
  const bool whole = values.size() * members * sizeof(math::Products) <= kMostAtOnce;
  const std::size_t parts = whole ? 1 : members;
  const auto slice = [&](std::size_t index) {
    const std::size_t begin = values.size() * index / parts, end = values.size() * (index + 1) / parts;
    return values.subspan(begin, end - begin);
  };
  // I sum all of it, or one slice of which everyone then gets the sum.
  const std::span<math::Products> mine = slice(whole ? 0 : static_cast<std::size_t>(link.rank()));
  std::vector<math::Products> theirs(mine.size() * members), sums(mine.size());
  std::vector<Bytes> arriving, slices;
  std::vector<ConstBytes> leaving;
  std::vector<const std::byte*> inputs;
  for (std::size_t member = 0; member < members; ++member) {
    arriving.push_back(std::as_writable_bytes(std::span(theirs).subspan(member * mine.size(), mine.size())));
    inputs.push_back(arriving.back().data());
    if (whole) continue;
    slices.push_back(std::as_writable_bytes(slice(member)));
    leaving.push_back(slices.back());
  }
  if (whole) {
    co_await link.allgather(std::as_bytes(values), std::move(arriving));
  } else {
    co_await link.alltoall(std::move(leaving), std::move(arriving));
  }
  auto* const summed = reinterpret_cast<std::byte*>(sums.data());
  if (!sums.empty()) math::reduce(DType::F64, ReduceOp::Sum, summed, inputs, sums.size() * kNumbers, 1.0);
  if (whole) {
    std::ranges::copy(sums, values.begin());
  } else {
    co_await link.allgather(std::as_bytes(std::span(sums)), std::move(slices));
  }
}

}  // namespace

Task execute_adasum(Link& link, std::vector<Work> works, Scratch& scratch) {
  AdasumBucket bucket(std::move(works), link.size(), link.rank(), scratch);
  bucket.load();
  if (bucket.empty()) co_return;
  co_await link.alltoall(bucket.wire<ConstBytes>(), bucket.received());
  bucket.widen();
  while (bucket.left() > 1) {
    bucket.multiply_pairs();
    if (!bucket.products().empty()) co_await sum_in_order(link, bucket.products());
    bucket.add_pairs();
  }
  co_await link.allgather(bucket.result(), bucket.wire<Bytes>());
  bucket.unload();
}

}  // namespace ronde::comm::detail
