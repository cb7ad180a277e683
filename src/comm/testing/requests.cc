#include "ronde/comm/testing/requests.h"

#include "ronde/base/text/format.h"
#include "ronde/comm/math/reduce_reference.h"

namespace ronde::comm::tests {
namespace {

class Maker {
 public:
  Maker(Operation operation, DType dtype, int members) : operation_(operation), dtype_(dtype), members_(members) {}

  // Roots and seeds go round; `edit` sets the rest.
  template <class Edit>
  void add(Edit edit) {
    const auto count = static_cast<int>(calls_.size());
    Call call{.operation = operation_, .dtype = dtype_, .shape = {5, 3}, .root = count % members_};
    call.name = fmt::format("{}.{}.{}", name(operation_), name(dtype_), count);
    call.sender = (call.root + 1 + count / members_) % members_;
    call.seed = std::hash<std::string>()(call.name);
    edit(call);
    calls_.push_back(call);
  }

  bool wide_float() const { return dtype_ == DType::F32 || dtype_ == DType::F64; }
  std::vector<Call> take() { return std::move(calls_); }

 private:
  const Operation operation_;
  const DType dtype_;
  const int members_;
  std::vector<Call> calls_;
};

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> shapes{{37}, {}, {0}, {4, 0, 2}, {5, 3, 2}, {1, 1, 1, 1, 1, 1, 1, 2}, {1025}};
  return shapes;
}

void reductions(Maker& maker) {
  for (const ReduceOp op : kAllReduceOps) {
    for (const Shape& shape : shapes()) maker.add([&](Call& call) { call.op = op, call.shape = shape; });
    maker.add([&](Call& call) { call.op = op, set_scales(call); });
    if (!maker.wide_float()) continue;
    for (const Compression compression : {Compression::F16, Compression::BF16})
      maker.add([&](Call& call) { call.op = op, call.compression = compression, call.shape = {200}; });
  }
}

// Lengths on both sides of what is cut among members.
void adasums(Maker& maker) {
  for (const Shape& shape : shapes()) maker.add([&](Call& call) { call.op = ReduceOp::Adasum, call.shape = shape; });
  maker.add([](Call& call) { call.op = ReduceOp::Adasum, call.shape = {3, 1000}; });
  maker.add([](Call& call) { call.op = ReduceOp::Adasum, call.values = Values::Small; });
  maker.add([](Call& call) { call.op = ReduceOp::Adasum, call.shape = {700}, set_scales(call); });
  if (!maker.wide_float()) return;
  for (const Compression compression : {Compression::F16, Compression::BF16})
    maker.add([&](Call& call) { call.op = ReduceOp::Adasum, call.compression = compression, call.shape = {2100}; });
}

void rows_that_differ(Maker& maker, int members) {
  for (const std::int64_t stride : {0, 1, 2}) {  // by member: equal; one more each; with zeros among them
    maker.add([&](Call& call) {
      for (int m = 0; m < members; ++m) call.rows.push_back(stride == 2 ? (m + 1) % 3 : 2 + m * stride);
      call.shape = stride == 1 ? Shape{0, 2, 2} : Shape{0};
    });
  }
  maker.add([&](Call& call) { call.rows.assign(static_cast<std::size_t>(members), 0); });
  maker.add([&](Call& call) {  // one alone has something
    call.rows.assign(static_cast<std::size_t>(members), 0);
    call.rows.back() = 400;
  });
}

void gathers(Maker& maker, int members) {
  rows_that_differ(maker, members);
  maker.add([](Call& call) { call.shape = {}; });  // single values
  maker.add([](Call& call) { call.shape = {7, 0}; });
}

void equal_shares(Maker& maker, std::size_t count) {
  for (const std::int64_t rows : {1, 3, 0})
    maker.add([&](Call& call) { call.rows.assign(count, rows), call.equal_shares = true; });
}

void alltoalls(Maker& maker, int members) {
  const auto lanes = static_cast<std::size_t>(members * members);
  equal_shares(maker, lanes);
  for (const std::size_t stride : {1u, 2u, 7u})
    maker.add([&](Call& call) {
      for (std::size_t lane = 0; lane < lanes; ++lane)
        call.rows.push_back(static_cast<std::int64_t>((lane * stride + lane / 3) % 4));
      call.shape = stride == 1 ? Shape{0} : Shape{0, 3};
    });
  maker.add([&](Call& call) {
    call.rows.assign(lanes, 0);
    call.rows[lanes / 2] = 100;
  });
  maker.add([&](Call& call) { call.rows.assign(lanes, 0); });
}

void compressed_moves(Maker& maker, std::size_t rows) {
  if (!maker.wide_float()) return;
  for (const Compression compression : {Compression::F16, Compression::BF16})
    maker.add([&](Call& call) {  // what one keeps for oneself may or may not be rounded: numbers that never are
      call.compression = compression, call.values = Values::Small;
      call.rows.assign(rows, 9);
    });
}

Shape any_shape(Random& random, DType dtype) {
  if (random.once_in(10)) return {};
  // The reference is slow where it has to round to 16 bits.
  const bool half = dtype == DType::F16 || dtype == DType::BF16;
  if (random.once_in(40)) return {static_cast<std::int64_t>(random.below(half ? 2'000 : 40'000))};
  if (random.once_in(15)) return {0, 4};
  Shape shape{static_cast<std::int64_t>(random.below(random.once_in(3) ? 300 : 9))};
  return random.once_in(2) ? shape : Shape{shape.rows(), static_cast<std::int64_t>(1 + random.below(5))};
}

void any_rows(Random& random, Call& call, int members) {
  const bool square = call.operation == Operation::Alltoall;
  const bool gather = call.operation == Operation::Allgather || call.operation == Operation::Gather;
  const auto count = static_cast<std::size_t>(square ? members * members : members);
  if (call.shape.dimensions() == 0) call.shape = {0};
  call.equal_shares = !gather && random.once_in(2);
  const auto equal = static_cast<std::int64_t>(random.below(6));
  for (std::size_t i = 0; i < count; ++i)
    call.rows.push_back(call.equal_shares ? equal : static_cast<std::int64_t>(random.below(7)));
}

}  // namespace

void set_scales(Call& call) {
  if (call.dtype == DType::Bool) return;
  if (math::is_float(call.dtype)) {
    call.prescale = 0.5, call.postscale = 4;
    return;
  }
  call.values = Values::Small;
  if (call.op == ReduceOp::Product) return;  // powers of a scale fit into no integer
  call.prescale = 2, call.postscale = 0.5;
  if (call.op == ReduceOp::Max) call.prescale = 0.5, call.postscale = 3;
}

std::vector<Call> every_call(Operation operation, DType dtype, int members) {
  Maker maker(operation, dtype, members);
  const auto count = static_cast<std::size_t>(members);
  switch (operation) {
    case Operation::Allreduce:
      reductions(maker);
      if (math::is_float(dtype)) adasums(maker);
      break;
    case Operation::Reduce:
    case Operation::ReduceScatter: reductions(maker); break;
    case Operation::Allgather:
    case Operation::Gather:
      gathers(maker, members);
      compressed_moves(maker, count);
      break;
    case Operation::Scatter:
      equal_shares(maker, count);
      rows_that_differ(maker, members);
      compressed_moves(maker, count);
      break;
    case Operation::Alltoall:
      alltoalls(maker, members);
      compressed_moves(maker, count * count);
      break;
    case Operation::Broadcast:
      for (const Shape& shape : shapes()) maker.add([&](Call& call) { call.shape = shape; });
      compressed_moves(maker, 0);
      break;
    case Operation::Send:
      for (const Shape& shape : shapes()) maker.add([&](Call& call) { call.shape = shape; });
      break;
    default: maker.add([](Call&) {}); break;
  }
  std::vector<Call> calls = maker.take();
  // Nobody sends to itself.
  if (operation == Operation::Send) std::erase_if(calls, [](const Call& call) { return call.sender == call.root; });
  return calls;
}

Call any_joinable_call(Random& random, int members) {
  const DType dtype = kAllDTypes[random.below(kAllDTypes.size())];
  Call call{.operation = random.once_in(8) ? Operation::Barrier : Operation::Allreduce,
            .dtype = dtype,
            .shape = any_shape(random, dtype),
            .op = random.once_in(3) ? ReduceOp::Average : ReduceOp::Sum,
            .root = random.below(members),
            .seed = random.next()};
  const bool adasum = random.once_in(6) && call.operation == Operation::Allreduce && math::is_float(dtype);
  if (adasum) call.op = ReduceOp::Adasum;
  if (call.operation == Operation::Allreduce && random.once_in(4)) set_scales(call);
  return call;
}

Call any_call(Random& random, int members) {
  Call call = any_joinable_call(random, members);
  if (random.once_in(2)) return call;
  call.operation = kAllOperations[random.below(kAllOperations.size())];
  call.op = kAllReduceOps[random.below(kAllReduceOps.size())];
  call.prescale = call.postscale = 1.0;
  call.sender = (call.root + 1 + random.below(members - 1)) % members;
  if (call.operation == Operation::Send && members == 1) call.operation = Operation::Barrier;
  if (random.once_in(4) && call.shape.elements() < 2'000)
    call.compression = random.once_in(2) ? Compression::F16 : Compression::BF16;
  if (reduces(call.operation)) {
    if (random.once_in(3)) set_scales(call);
    return call;
  }
  if (call.compression != Compression::None) call.values = Values::Small;
  if (call.operation == Operation::Broadcast || call.operation == Operation::Send) return call;
  if (call.operation != Operation::Barrier) any_rows(random, call, members);
  return call;
}

}  // namespace ronde::comm::tests
