#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/comm/buffer.h"
#include "ronde/comm/types.h"

struct CUstream_st;  // CUDA's own

namespace ronde::comm {

// What the members of a group do together. "Rows" are the first dimension.
enum class Operation : std::uint8_t {
  Allreduce,      // everyone gets the reduction of all inputs
  Reduce,         // the root does
  Allgather,      // everyone gets the rows of all members, one after the other; their number may differ by member
  Gather,         // the root does
  Scatter,        // everyone gets its share of the root's rows: equal ones, or `splits` of the root
  Broadcast,      // everyone gets the root's input
  Alltoall,       // everyone sends rows to everyone: equal shares, or `splits`
  ReduceScatter,  // everyone gets its rows of the reduction; of what does not divide, the first members get one more
  Send,           // to one member, which receives
  Receive,        //
  Barrier,        // nobody goes on before all have come
  Join,           // this member has run out of data: until all have joined, it takes part with zeros
};
std::string_view name(Operation operation);  // "allreduce"

// How values travel. Types other than f32 and f64 travel as they are.
enum class Compression : std::uint8_t { None, F16, BF16 };
std::string_view name(Compression compression);

// Memory for a result whose size is known only when all members have met. Called on any thread; `owner` keeps it.
struct Memory {
  void* data = nullptr;
  std::shared_ptr<void> owner = nullptr;
};
using Allocate = std::function<Memory(DType dtype, const Shape& shape)>;

// What one member asks for. What must agree between members: operation, name, dtype, shape (for Allgather, Gather,
// Scatter and Alltoall: without the first dimension), op, scales, root, compression.
struct Request {
  Operation operation = Operation::Allreduce;
  std::string name = {};  // empty: the n-th request without a name in this group, on each member
  Buffer input = {};      // Scatter: of the root alone; Receive, Barrier, Join: none
  // No data: Allreduce, Reduce and Broadcast work in place; others use memory from `allocate`, or of the engine. For
  // Receive, and Scatter on others than the root, its dtype and shape matter even so.
  Buffer output = {};
  ReduceOp op = ReduceOp::Sum;
  double prescale = 1.0;   // inputs are multiplied by it before the reduction,
  double postscale = 1.0;  // results after it
  int root = 0;            // a member of the group; Send: the receiver, Receive: the sender
  std::vector<std::int64_t> splits = {};
  Compression compression = Compression::None;
  Allocate allocate = nullptr;
  // Buffers of GPUs: work in this stream so far makes the input, and work put into it after wait() sees the result; the
  // host waits for neither. Null is CUDA's default stream.
  CUstream_st* stream = nullptr;
  std::shared_ptr<const void> keeps = nullptr;  // what must live until the request is done, such as its memory's owner
};

// What came of it.
struct Result {
  Buffer output = {};                      // where the result lies; no data for a member that gets none
  std::shared_ptr<void> memory = nullptr;  // keeps it, when it is not the caller's
  std::vector<std::int64_t> splits = {};   // Allgather, Gather, Alltoall: rows that came from each member
  int last_joined = -1;                    // Join: the member that joined last
};

}  // namespace ronde::comm
