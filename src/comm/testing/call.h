#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ronde/comm/buffer.h"
#include "ronde/comm/request.h"
#include "ronde/comm/types.h"

// For tests: collectives that know what must come of them.
namespace ronde::comm::tests {

using Bytes = std::vector<std::byte>;

// Numbers that follow from a key and a count alone, so that all ranks draw the same ones without talking.
class Random {
 public:
  explicit Random(std::initializer_list<std::uint64_t> keys) {
    for (const std::uint64_t key : keys) state_ = mix(state_ ^ key);
  }

  std::uint64_t next() { return mix(state_ + ++count_ * 0x9e37'79b9'7f4a'7c15u); }
  // From 0 to below `end`, 0 when that is nothing.
  template <class T>
  T below(T end) {
    return end > T{0} ? static_cast<T>(next() % static_cast<std::uint64_t>(end)) : T{0};
  }
  bool once_in(std::uint64_t times) { return next() % times == 0; }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  static std::uint64_t mix(std::uint64_t x) {  // splitmix64
    x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9u;
    x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11ebu;
    return x ^ (x >> 31);
  }
  std::uint64_t state_ = 0x5851'f42d'4c95'7f2du;
  std::uint64_t count_ = 0;
};

// What the elements of the inputs are.
enum class Values : std::uint8_t {
  Small,  // whole numbers up to 7: exact in every type, also on the wire
  Any,    // any integer; fractions of every size from 1/64 to 2
};

// One collective as all members of a group mean it. All that happens in it, the inputs of all members included, follows
// from what is here: every rank can tell what every rank must get.
struct Call {
  Operation operation = Operation::Allreduce;
  std::string name = {};
  DType dtype = DType::F32;
  Shape shape = {};  // of a member's input; where rows differ by member: `rows` stands for the first dimension
  // Allgather, Gather: what each member gives. Scatter: what each gets. Alltoall: what each sends to each, those of
  // member 0 first.
  std::vector<std::int64_t> rows = {};
  bool equal_shares = false;  // Scatter, Alltoall: all of `rows` are the same, and nobody says `splits`
  ReduceOp op = ReduceOp::Sum;
  double prescale = 1.0;
  double postscale = 1.0;
  int root = 0;
  int sender = 0;  // Send: from this member to the root
  Compression compression = Compression::None;
  std::vector<int> joined = {};  // members that have run out of data, and do not submit
  Values values = Values::Any;
  std::uint64_t seed = 0;       // of the inputs
  std::vector<int> where = {};  // by member: its node; empty: all on one
};

std::string describe(const Call& call);

bool submits(const Call& call, int member);  // whether this member has to do anything
bool gives(const Call& call, int member);    // whether it has an input that matters
bool gets(const Call& call, int member);     // whether it has a result
// Whether input and output of every member have one shape, so that it may run in place.
bool may_be_in_place(const Call& call);
bool reduces(Operation operation);

Shape input_shape(const Call& call, int member, int members);
Shape output_shape(const Call& call, int member, int members);
// As detail::store_float, which looks for the nearest 16 bits also when it does not need them.
void store_number(DType dtype, std::byte* at, double value);
Bytes make_input(const Call& call, int member, int members);

}  // namespace ronde::comm::tests
