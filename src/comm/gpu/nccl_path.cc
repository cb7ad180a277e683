#include "ronde/comm/gpu/nccl_path.h"

#include <algorithm>
#include <span>
#include <thread>
#include <utility>

#include "ronde/base/system/clock.h"
#include "ronde/base/text/units.h"
#include "ronde/comm/execute/staging.h"
#include "ronde/comm/gpu/stream_link.h"

namespace ronde::comm::detail {
namespace {

// How long streams have to end what is under way when this rank leaves, or another has gone.
constexpr std::chrono::seconds kLeaveTimeout{5};

constexpr std::uint64_t kLongestId = 4096;  // of a communicator; NCCL's have 128 bytes

template <class T>
std::span<std::byte> bytes_in(T& object) {
  return std::as_writable_bytes(std::span(object));
}

bool moves(Operation operation) {
  return operation == Operation::Broadcast || operation == Operation::Allgather || operation == Operation::Alltoall;
}

}  // namespace

bool NcclPath::takes(const Description& description) const {
  if (!description.on_gpu && !options_.stand_in) return false;
  if (description.compression != Compression::None) return false;
  if (moves(description.operation)) return true;
  return reduces(description.operation) && nccl_can(description.dtype, description.op) && description.prescale == 1.0 &&
         description.postscale == 1.0;
}

NcclPath::~NcclPath() {
  try {
    stop();
  } catch (const std::exception&) {  // nothing is left to be saved
  }
}

// A member whose program has shown no GPU yet, having joined, takes one by its place on the node.
std::string NcclPath::my_word(int gpu) {
  if (options_.stand_in) return GpuPlace{options_.host, options_.rank, "", options_.rank}.to_text();
  if (const std::string missing = why_no_nccl(); !missing.empty()) return "!" + missing;
  if (gpu == device::kHost && device::count() == 0) return "!" + device::why_none();
  gpu_ = gpu != device::kHost ? gpu : options_.local_rank % device::count();
  try {
    return gpu_place(gpu_, options_.rank, options_.host).to_text();
  } catch (const Error& error) {
    return "!" + error.message();
  }
}

Task NcclPath::open(Link& link, int gpu) {
  opened_ = true;
  GpuWord mine = gpu_word(my_word(gpu));
  std::vector<GpuWord> all(static_cast<std::size_t>(link.size()));
  std::vector<Bytes> places;
  for (GpuWord& word : all) places.push_back(bytes_in(word));
  co_await link.allgather(bytes_in(mine), places);
  std::vector<GpuPlace> gpus;
  for (const GpuWord& word : all) {
    const std::string_view text = text_of(word);
    if (text.starts_with('!')) host_reason_ = text.substr(1);
    if (!host_reason_.empty()) break;
    gpus.push_back(GpuPlace::from_text(text));
  }
  if (host_reason_.empty()) host_reason_ = why_not_nccl(gpus);
  if (host_reason_.empty()) co_await connect(link, gpus);
  if (!host_reason_.empty() && link.rank() == 0 && link.size() > 1)
    options_.log.info("GPU buffers go through host memory: {}", host_reason_);
}

Task NcclPath::connect(Link& link, const std::vector<GpuPlace>& places) {
  std::string id;
  std::uint64_t bytes = 0;
  if (link.rank() == 0) {
    try {
      id = options_.stand_in ? options_.stand_in->make_id() : make_nccl_id();
    } catch (const Error& error) {
      host_reason_ = error.message();
    }
    bytes = id.size();
  }
  std::span<std::uint64_t> one(&bytes, 1);
  co_await link.broadcast(std::as_writable_bytes(one), 0);
  if (bytes == 0 && host_reason_.empty()) host_reason_ = "NCCL does not work on the first member of the group";
  if (bytes == 0) co_return;
  if (bytes > kLongestId)
    throw Error(Error::Kind::System, fmt::format("the first member sent an id of {} bytes for NCCL", bytes));
  id.resize(bytes);
  co_await link.broadcast(bytes_in(id), 0);
  if (gpu_ != device::kHost) stream_ = device::Stream(gpu_, device::Priority::High);
  NcclOptions options{.id = id,
                      .rank = link.rank(),
                      .size = link.size(),
                      .place = places[static_cast<std::size_t>(link.rank())],
                      .places = places,
                      .deadline = options_.deadline};
  try {
    data_ = options_.stand_in ? options_.stand_in->make_link(std::move(options)) : make_nccl_link(std::move(options));
  } catch (const Error& error) {
    why_given_up_ = error.message();
    throw;
  }
  connecting_ = true;
  std::optional<Error> refused;
  co_await until([this, &refused] {
    try {
      return data_->ready();
    } catch (const Error& error) {
      refused = error;
      return true;
    }
  });
  connecting_ = false;
  if (!refused) co_return;
  give_up(*refused);
  throw Error(*refused);
}

// Nothing of a request begins before what makes its memory.
void NcclPath::follow(const Ticket& ticket) const {
  if (ticket.made_on_gpu) stream_.wait(*ticket.made_on_gpu);
}

Task NcclPath::run(Link& link, std::vector<Work> works, bool fused, Scratch& scratch) {
  busy();  // lets go of what is done
  for (const Work& work : works) {
    if (!work.ticket) continue;
    if (const int gpu = gpu_of(work.ticket->request); gpu != gpu_)
      throw Error::bad_input("{}: its memory is on GPU {}, but in this group the rank uses GPU {}", title(*work.ticket),
                             gpu, gpu_);
    follow(*work.ticket);
  }
  if (fused) {
    co_await reduce_fused(works);
    co_return;
  }
  for (const Work& work : works) {
    if (work.description->operation == Operation::Allreduce) {
      co_await reduce_fused(std::vector<Work>(1, work));
      continue;
    }
    StreamLink by_stream(link, *data_, stream_, [&] { follow(*work.ticket); });
    try {
      co_await execute_alone(by_stream, work, scratch);
    } catch (const Error& error) {
      give_up(error);
      throw;
    }
    hold(std::vector<Work>(1, work));
  }
}

void NcclPath::allreduce(std::span<const DeviceLink::Piece> pieces, DType dtype, ReduceOp op) {
  try {
    data_->allreduce(pieces, dtype, op, stream_);
  } catch (const Error& error) {
    give_up(error);
    throw;
  }
}

// A member that has joined gives zeros.
Task NcclPath::reduce_fused(std::vector<Work> works) {
  std::size_t zeros = 0;
  for (const Work& work : works)
    if (!work.ticket) zeros += wire_bytes(work);
  const Memory nothing = zeros > 0 ? make_memory(gpu_, zeros) : Memory();
  if (zeros > 0) device::clear_async(nothing.data, zeros, stream_);
  std::vector<DeviceLink::Piece> pieces;
  auto* next = static_cast<std::byte*>(nothing.data);
  for (const Work& work : works) {
    const std::size_t count = work.description->shape.elements();
    if (work.ticket) work.ticket->result.output = in_place_output(work.ticket->request);
    void* const out = work.ticket ? work.ticket->result.output.data : next;
    const void* const in = work.ticket ? work.ticket->request.input.data : next;
    if (!work.ticket) next += wire_bytes(work);
    if (count > 0) pieces.push_back({in, out, count});
  }
  const Description& kind = *works.front().description;
  if (!pieces.empty()) allreduce(pieces, kind.dtype, kind.op);
  hold(works, nothing.owner);
  co_return;
}

std::string NcclPath::why_not() const {
  if (connected()) return {};
  if (!host_reason_.empty()) return host_reason_;
  if (!why_given_up_.empty()) return "NCCL was given up: " + why_given_up_;
  return opened_ ? "NCCL has not connected its members yet" : "no GPU buffer has been sent between its members yet";
}

void NcclPath::hold(const std::vector<Work>& works, std::shared_ptr<const void> more) {
  Held held{.done = device::Event(stream_), .since = monotonic_now()};
  held.keeps.push_back(std::move(more));
  held.done.record(stream_);
  for (const Work& work : works) {
    if (!work.ticket) continue;
    work.ticket->done_on_gpu.emplace(stream_);
    work.ticket->done_on_gpu->record(stream_);
    held.keeps.push_back(work.ticket->request.keeps);
    held.keeps.push_back(work.ticket->result.memory);
  }
  held_.push_back(std::move(held));
}

bool NcclPath::busy() {
  while (!held_.empty() && held_.front().done.ready()) {
    held_.pop_front();
    moved_at_ = monotonic_now();
  }
  return !held_.empty();
}

void NcclPath::member_left(std::chrono::nanoseconds now, bool by_itself) {
  if (!data_) return;
  if (left_at_.count() == 0) left_at_ = now;
  died_ = died_ || !by_itself;
}

// Programs that launch recorded steps hear of it by why_not() alone. What streams use is kept: they end only by and by.
void NcclPath::give_up(const Error& why) {
  if (!data_) return;
  why_given_up_ = why.message();
  data_->abort();
  given_up_ = std::move(data_);
}

void NcclPath::forget_connecting() {
  if (!std::exchange(connecting_, false)) return;
  give_up(Error(Error::Kind::System, "the group failed while its members were being connected"));
}

// After a member has gone nothing in which it did not have its part yet can end.
void NcclPath::watch(std::chrono::nanoseconds now) {
  if (!data_ || connecting_) return;
  const bool late = left_at_.count() > 0 && now - left_at_ > kLeaveTimeout;
  const bool is_busy = busy();
  const bool lost = late && (died_ || (is_busy && now - held_.front().since > kLeaveTimeout));
  try {
    if (!lost) data_->check();
  } catch (const Error& error) {
    give_up(error);
    throw;
  }
  if (!is_busy && !lost) return;
  const auto waits = now - (lost ? left_at_ : std::max(held_.front().since, moved_at_));
  if (!lost && (options_.stuck.count() == 0 || waits < options_.stuck)) return;
  const std::string why =
      lost ? fmt::format("a member left {} ago", format_duration(waits))
           : fmt::format("{} made no progress for {} (comm.stall_abort)",
                         held_.front().step ? "a launched step" : "GPU collectives", format_duration(waits));
  give_up(Error(Error::Kind::Timeout, why));
  throw Error(Error::Kind::Timeout, why);
}

void NcclPath::stop() {
  connecting_ = false;
  given_up_.reset();
  if (!data_) return held_.clear();
  why_given_up_ = "its group has ended";
  const Deadline deadline = Deadline::after(kLeaveTimeout);
  try {
    while (busy() && !deadline.passed()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } catch (const Error&) {
    data_->abort();
  }
  if (!held_.empty() || died_) data_->abort();
  data_.reset();
  held_.clear();
}

}  // namespace ronde::comm::detail
