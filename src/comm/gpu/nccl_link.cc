#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include <nccl.h>

#include "ronde/base/error.h"
#include "ronde/base/system/thread.h"
#include "ronde/base/text/units.h"
#include "ronde/comm/gpu/device_link.h"

// As thin as can be: NCCL does the work. What is added: nothing waits for longer than a deadline, and errors say where.
namespace ronde::comm::detail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kOldest = 21900;           // from which on buffers can be registered
constexpr std::size_t kMostMembers = 8;  // that an error names

std::string format_version(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

// 0 when it does not say.
int loaded_version() {
  int version = 0;
  return ncclGetVersion(&version) == ncclSuccess ? version : 0;
}

// In NCCL's words; the last ones may tell more, such as the address that did not answer.
std::string in_words(ncclResult_t result) {
  const char* const last = ncclGetLastError(nullptr);
  const std::string words = last == nullptr ? "" : last;
  return ncclGetErrorString(result) + (words.empty() ? "" : "; its last error: " + words);
}

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::U8: return ncclUint8;
    case DType::I8: return ncclInt8;
    case DType::I32: return ncclInt32;
    case DType::I64: return ncclInt64;
    case DType::F16: return ncclFloat16;
    case DType::BF16: return ncclBfloat16;
    case DType::F32: return ncclFloat32;
    case DType::F64: return ncclFloat64;
    case DType::U16:
    case DType::I16:
    case DType::Bool: break;
  }
  throw Error(Error::Kind::Bug, fmt::format("NCCL cannot reduce {}", name(dtype)));
}

ncclRedOp_t op_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::Sum: return ncclSum;
    case ReduceOp::Average: return ncclAvg;
    case ReduceOp::Min: return ncclMin;
    case ReduceOp::Max: return ncclMax;
    case ReduceOp::Product: return ncclProd;
    case ReduceOp::Adasum: break;
  }
  throw Error(Error::Kind::Bug, fmt::format("NCCL does not support {}", name(op)));
}

// How values are reduced, as NCCL names it.
struct NcclReduction {
  NcclReduction(DType dtype, ReduceOp reduce_op) : type(type_of(dtype)), op(op_of(reduce_op)), bytes(size_of(dtype)) {}
  ncclDataType_t type;
  ncclRedOp_t op;
  std::size_t bytes;  // of a value
};

template <class Span>
std::size_t total(const std::vector<Span>& pieces) {
  std::size_t bytes = 0;
  for (const Span& piece : pieces) bytes += piece.size();
  return bytes;
}

// Of equal sizes, one behind the other?
template <class Span>
bool in_one_piece(const std::vector<Span>& pieces) {
  for (std::size_t i = 1; i < pieces.size(); ++i)
    if (pieces[i].size() != pieces[0].size() || pieces[i].data() != pieces[i - 1].data() + pieces[i - 1].size())
      return false;
  return true;
}

// Several calls of one group, up to the first that fails.
class Calls {
 public:
  void add(ncclResult_t result) {
    if (failed_ == ncclSuccess && result != ncclInProgress) failed_ = result;
  }
  ncclResult_t failed() const { return failed_; }

 private:
  ncclResult_t failed_ = ncclSuccess;
};

class NcclLink final : public DeviceLink {
 public:
  explicit NcclLink(NcclOptions options) : options_(std::move(options)), begun_(Clock::now()) {}
  ~NcclLink() override;
  void begin();

  bool ready() override;
  void allreduce(std::span<const Piece> pieces, DType dtype, ReduceOp op, const device::Stream& stream) override;
  void reduce(ConstBytes data, Bytes out, int root, DType dtype, ReduceOp op, const device::Stream& stream) override;
  void reduce_scatter(const std::vector<ConstBytes>& send, Bytes out, DType dtype, ReduceOp op,
                      const device::Stream& stream) override;
  void broadcast(void* data, std::size_t bytes, int root, const device::Stream& stream) override;
  void allgather(ConstBytes mine, const std::vector<Bytes>& out, const device::Stream& stream) override;
  void alltoall(const std::vector<ConstBytes>& send, const std::vector<Bytes>& out,
                const device::Stream& stream) override;
  std::byte* make_registered(std::size_t bytes) override;
  void check() override;
  void abort() noexcept override;

 private:
  template <class Body>
  void together(std::string_view what, std::size_t bytes, Body body);
  void require_alive(std::string_view doing) const;
  // What the communicator is at; ncclInProgress: not through with the last call.
  ncclResult_t state() const;
  bool is_late(Clock::time_point since) const { return Clock::now() - since > options_.deadline; }
  bool leave_together();
  [[noreturn]] void fail(ncclResult_t result, std::string_view doing);
  [[noreturn]] void fail_late(std::string_view doing);

  NcclOptions options_;
  Clock::time_point begun_;
  ncclComm_t comm_ = nullptr;  // nobody's once it was aborted
  bool ready_ = false;
  struct Registered {
    void* memory;
    void* handle;  // none: NCCL does not know it, and works with it all the same
  };
  std::vector<Registered> registered_;
  std::jthread aborting_;
};

void NcclLink::begin() {
  const device::CurrentDevice current(options_.place.device);
  ncclUniqueId id;
  std::memcpy(id.internal, options_.id.data(), sizeof(id.internal));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const ncclResult_t result = ncclCommInitRankConfig(&comm_, options_.size, id, options_.rank, &config);
  if (result != ncclSuccess && result != ncclInProgress) fail(result, "set-up");
}

NcclLink::~NcclLink() {
  try {
    if (comm_ != nullptr && ready_ && leave_together()) return;
  } catch (const Error&) {  // the GPU is not to be had any more
  }
  abort();
}

// NCCL empties its queues, and wants all members for it: whoever does not come is not waited for beyond the deadline.
bool NcclLink::leave_together() {
  const device::CurrentDevice current(options_.place.device);
  const Clock::time_point since = Clock::now();
  for (const Registered& one : registered_)
    if (one.handle != nullptr) (void)ncclCommDeregister(comm_, one.handle);
  ncclResult_t result = ncclCommFinalize(comm_);
  while (result == ncclInProgress && !is_late(since)) {
    std::this_thread::yield();
    result = state();
  }
  if (result != ncclSuccess) return false;
  (void)ncclCommDestroy(std::exchange(comm_, nullptr));
  for (const Registered& one : registered_) (void)ncclMemFree(one.memory);
  return true;
}

// Registered memory stays with the process: a kernel may be at it still.
//
// In a thread of its own, since NCCL returns only once all graphs with calls of this communicator are gone, and whoever
// aborts may be the one who holds them.
void NcclLink::abort() noexcept {
  if (comm_ == nullptr) return;
  aborting_ = std::jthread([comm = std::exchange(comm_, nullptr), device = options_.place.device] {
    name_this_thread("nccl abort");
    if (device != device::kHost) (void)cudaSetDevice(device);
    (void)ncclCommAbort(comm);
  });
}

void NcclLink::fail(ncclResult_t result, std::string_view doing) {
  std::string message = fmt::format("NCCL {} on {}: {}", doing, options_.place.to_words(), in_words(result));
  abort();
  throw Error(Error::Kind::System, std::move(message));
}

void NcclLink::fail_late(std::string_view doing) {
  std::string members;
  for (std::size_t i = 0; i < std::min(options_.places.size(), kMostMembers); ++i)
    members += (i == 0 ? "" : ", ") + options_.places[i].to_words();
  if (options_.places.size() > kMostMembers)
    members += fmt::format(" and {} more", options_.places.size() - kMostMembers);
  std::string message = fmt::format("NCCL {} on {}: not complete after {}, given up; it needs all of {}", doing,
                                    options_.place.to_words(), format_duration(options_.deadline), members);
  abort();
  throw Error(Error::Kind::Timeout, std::move(message));
}

void NcclLink::require_alive(std::string_view doing) const {
  if (comm_ == nullptr)
    throw Error(Error::Kind::System,
                fmt::format("NCCL {} on {}: the communicator was aborted before", doing, options_.place.to_words()));
}

ncclResult_t NcclLink::state() const {
  ncclResult_t result = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(comm_, &result);
  return asked == ncclSuccess ? result : asked;
}

bool NcclLink::ready() {
  if (ready_) return true;
  require_alive("set-up");
  const device::CurrentDevice current(options_.place.device);
  const ncclResult_t result = state();
  if (result == ncclInProgress && is_late(begun_)) fail_late("set-up");
  if (result != ncclSuccess && result != ncclInProgress) fail(result, "set-up");
  ready_ = result == ncclSuccess;
  return ready_;
}

// Runs body(calls) as one group call. Only when NCCL is through with it the work is in the stream, so that an event
// can be recorded behind it. That asks the communicator, not the GPU: legal while the stream is captured.
template <class Body>
void NcclLink::together(std::string_view what, std::size_t bytes, Body body) {
  const auto doing = [&] { return fmt::format("{} of {}", what, format_bytes(bytes)); };
  require_alive(what);
  const device::CurrentDevice current(options_.place.device);
  const Clock::time_point since = Clock::now();
  ncclResult_t result = ncclGroupStart();
  if (result == ncclSuccess) {
    Calls calls;
    body(calls);
    result = ncclGroupEnd();  // after a failure too: a group that stays open would swallow the thread's next calls
    if (calls.failed() != ncclSuccess) result = calls.failed();
  }
  while (result == ncclInProgress) {
    result = state();
    if (result != ncclInProgress) break;
    if (is_late(since)) fail_late(doing());
    std::this_thread::yield();
  }
  if (result != ncclSuccess) fail(result, doing());
}

void NcclLink::allreduce(std::span<const Piece> pieces, DType dtype, ReduceOp op, const device::Stream& stream) {
  const NcclReduction by(dtype, op);
  std::size_t values = 0;
  for (const Piece& piece : pieces) values += piece.count;
  together("allreduce", values * by.bytes, [&](Calls& calls) {
    for (const Piece& piece : pieces)
      calls.add(ncclAllReduce(piece.in, piece.out, piece.count, by.type, by.op, comm_, stream.native()));
  });
}

void NcclLink::reduce(ConstBytes data, Bytes out, int root, DType dtype, ReduceOp op, const device::Stream& stream) {
  const NcclReduction by(dtype, op);
  together("reduce", data.size(), [&](Calls& calls) {
    calls.add(
        ncclReduce(data.data(), out.data(), data.size() / by.bytes, by.type, by.op, root, comm_, stream.native()));
  });
}

void NcclLink::reduce_scatter(const std::vector<ConstBytes>& send, Bytes out, DType dtype, ReduceOp op,
                              const device::Stream& stream) {
  const NcclReduction by(dtype, op);
  together("reduce_scatter", total(send), [&](Calls& calls) {
    if (in_one_piece(send)) {
      calls.add(
          ncclReduceScatter(send[0].data(), out.data(), out.size() / by.bytes, by.type, by.op, comm_, stream.native()));
      return;
    }
    for (int member = 0; member < options_.size; ++member) {
      const ConstBytes piece = send[static_cast<std::size_t>(member)];
      calls.add(ncclReduce(piece.data(), member == options_.rank ? out.data() : nullptr, piece.size() / by.bytes,
                           by.type, by.op, member, comm_, stream.native()));
    }
  });
}

void NcclLink::broadcast(void* data, std::size_t bytes, int root, const device::Stream& stream) {
  together("broadcast", bytes,
           [&](Calls& calls) { calls.add(ncclBroadcast(data, data, bytes, ncclUint8, root, comm_, stream.native())); });
}

void NcclLink::allgather(ConstBytes mine, const std::vector<Bytes>& out, const device::Stream& stream) {
  together("allgather", total(out), [&](Calls& calls) {
    if (in_one_piece(out)) {
      calls.add(ncclAllGather(mine.data(), out[0].data(), mine.size(), ncclUint8, comm_, stream.native()));
      return;
    }
    for (int member = 0; member < options_.size; ++member) {
      const Bytes place = out[static_cast<std::size_t>(member)];
      const void* const from = member == options_.rank ? mine.data() : place.data();
      calls.add(ncclBroadcast(from, place.data(), place.size(), ncclUint8, member, comm_, stream.native()));
    }
  });
}

void NcclLink::alltoall(const std::vector<ConstBytes>& send, const std::vector<Bytes>& out,
                        const device::Stream& stream) {
  together("alltoall", total(send) + total(out), [&](Calls& calls) {
    for (int member = 0; member < options_.size; ++member) {
      const ConstBytes gift = send[static_cast<std::size_t>(member)];
      const Bytes place = out[static_cast<std::size_t>(member)];
      // Both sides know the size, so both leave out what is empty.
      if (!gift.empty()) calls.add(ncclSend(gift.data(), gift.size(), ncclUint8, member, comm_, stream.native()));
      if (!place.empty()) calls.add(ncclRecv(place.data(), place.size(), ncclUint8, member, comm_, stream.native()));
    }
  });
}

std::byte* NcclLink::make_registered(std::size_t bytes) {
  require_alive("registration");
  const device::CurrentDevice current(options_.place.device);
  Registered made{};
  if (const ncclResult_t result = ncclMemAlloc(&made.memory, bytes); result != ncclSuccess)
    throw Error(Error::Kind::System, fmt::format("NCCL cannot allocate {} for {}: {}", format_bytes(bytes),
                                                 options_.place.to_words(), in_words(result)));
  if (ncclCommRegister(comm_, made.memory, bytes, &made.handle) != ncclSuccess) made.handle = nullptr;
  registered_.push_back(made);
  return static_cast<std::byte*>(made.memory);
}

void NcclLink::check() {
  require_alive("communicator");
  const ncclResult_t result = state();
  if (result != ncclSuccess && result != ncclInProgress) fail(result, "communicator");
}

}  // namespace

std::string why_no_nccl() {
  const int version = loaded_version();
  if (version >= kOldest) return {};
  return fmt::format("NCCL's library is version {}, older than {}", version == 0 ? "unknown" : format_version(version),
                     format_version(kOldest));
}

std::string nccl_version() {
  const int version = loaded_version();
  return version == 0 ? "" : format_version(version);
}

std::string make_nccl_id() {
  ncclUniqueId id;
  const ncclResult_t result = ncclGetUniqueId(&id);
  if (result != ncclSuccess)
    throw Error(Error::Kind::System, fmt::format("cannot create an id for an NCCL communicator: {}", in_words(result)));
  return {id.internal, sizeof(id.internal)};
}

std::unique_ptr<DeviceLink> make_nccl_link(NcclOptions options) {
  if (options.id.size() != sizeof(ncclUniqueId::internal))
    throw Error(Error::Kind::Bug, fmt::format("an id of {} bytes was not created by NCCL", options.id.size()));
  if (const std::string why = why_not_nccl(options.places); !why.empty()) throw Error(Error::Kind::BadInput, why);
  auto link = std::make_unique<NcclLink>(std::move(options));
  link->begin();
  return link;
}

}  // namespace ronde::comm::detail
