#include "ronde/comm/detail/nccl_path.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <thread>
#include <utility>

#include "ronde/base/clock.h"
#include "ronde/base/units.h"
#include "ronde/comm/detail/staging.h"
#include "ronde/comm/link/stream_link.h"

namespace ronde::comm::detail {
namespace {

// How long streams have to end what is under way when this rank leaves, or another has gone.
constexpr std::chrono::seconds kLastPatience{5};

// What members tell each other first: where their GPU is, or, behind a '!', why they have no NCCL.
constexpr std::size_t kWordBytes = GpuPlace::kMostBytes + 1;
using Word = std::array<char, kWordBytes>;

Word word_of(const std::string& text) {
  Word word{};
  std::memcpy(word.data(), text.data(), std::min(text.size(), kWordBytes - 1));
  return word;
}

template <class T>
std::span<std::byte> bytes_in(T& object) {
  return std::as_writable_bytes(std::span(object));
}

bool moves(Operation operation) {
  return operation == Operation::Broadcast || operation == Operation::Allgather || operation == Operation::Alltoall;
}

}  // namespace

bool goes_by_nccl(const Description& description) {
  if (!description.on_gpu || description.compression != Compression::None) return false;
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
  Word mine = word_of(my_word(gpu));
  std::vector<Word> all(static_cast<std::size_t>(link.size()));
  std::vector<Bytes> places;
  for (Word& word : all) places.push_back(bytes_in(word));
  co_await link.allgather(bytes_in(mine), places);
  std::vector<GpuPlace> gpus;
  for (const Word& word : all) {
    if (word[0] == '!') host_reason_ = word.data() + 1;
    if (!host_reason_.empty()) break;
    gpus.push_back(GpuPlace::from_text(word.data()));
  }
  if (host_reason_.empty()) host_reason_ = why_not_nccl(gpus);
  if (host_reason_.empty()) co_await connect(link, gpus);
  if (!host_reason_.empty() && link.rank() == 0 && link.size() > 1)
    options_.log.info("buffers of GPUs go through the host's memory: {}", host_reason_);
}

Task NcclPath::connect(Link& link, const std::vector<GpuPlace>& places) {
  std::string id;
  std::uint64_t bytes = 0;
  if (link.rank() == 0) {
    try {
      id = make_nccl_id();
    } catch (const Error& error) {
      host_reason_ = error.message();
    }
    bytes = id.size();
  }
  std::span<std::uint64_t> one(&bytes, 1);
  co_await link.broadcast(std::as_writable_bytes(one), 0);
  if (bytes == 0 && host_reason_.empty()) host_reason_ = "NCCL does not work on the first of its members";
  if (bytes == 0) co_return;
  id.resize(bytes);
  co_await link.broadcast(bytes_in(id), 0);
  stream_ = device::Stream(gpu_, device::Priority::High);
  data_ = make_nccl_link({.id = id,
                          .rank = link.rank(),
                          .size = link.size(),
                          .place = places[static_cast<std::size_t>(link.rank())],
                          .places = places,
                          .deadline = options_.deadline});
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
  if (refused) throw Error(*refused);
}

Task NcclPath::run(Link& link, std::vector<Work> works, bool fused, Scratch& scratch) {
  busy();  // lets go of what is done
  for (const Work& work : works) {
    if (!work.ticket) continue;
    if (const int gpu = gpu_of(work.ticket->request); gpu != gpu_)
      throw Error::bad_input("{}: its memory is on GPU {}, and this rank's part in the group on GPU {}",
                             title(*work.ticket), gpu, gpu_);
    stream_.wait(*work.ticket->made_on_gpu);
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
    StreamLink by_stream(link, *data_, stream_, [&] { stream_.wait(*work.ticket->made_on_gpu); });
    co_await execute_alone(by_stream, work, scratch);
    hold(std::vector<Work>(1, work));
  }
}

// A member that has joined gives zeros.
Task NcclPath::reduce_fused(std::vector<Work> works) {
  std::size_t zeros = 0;
  for (const Work& work : works)
    if (!work.ticket) zeros += wire_bytes(work);
  const auto nothing = zeros > 0 ? std::make_shared<device::DeviceBuffer>(gpu_, zeros) : nullptr;
  if (nothing) device::clear_async(nothing->data(), zeros, stream_);
  std::vector<DeviceLink::Piece> pieces;
  std::byte* next = nothing ? nothing->data() : nullptr;
  for (const Work& work : works) {
    const std::size_t count = work.description->shape.elements();
    if (work.ticket) work.ticket->result.output = in_place_output(work.ticket->request);
    void* const out = work.ticket ? work.ticket->result.output.data : next;
    const void* const in = work.ticket ? work.ticket->request.input.data : next;
    if (!work.ticket) next += wire_bytes(work);
    if (count > 0) pieces.push_back({in, out, count});
  }
  const Description& kind = *works.front().description;
  if (!pieces.empty()) data_->allreduce(pieces, kind.dtype, kind.op, stream_);
  hold(works, nothing);
  co_return;
}

std::string NcclPath::why_not() const {
  if (connected()) return {};
  if (!host_reason_.empty()) return host_reason_;
  return opened_ ? "NCCL was given up after a failure" : "no buffer of a GPU has travelled between its members yet";
}

void NcclPath::reserve(const std::vector<std::size_t>& bytes) {
  for (std::size_t number = registered_.size(); number < bytes.size(); ++number)
    registered_.emplace_back(data_->make_registered(bytes[number]), bytes[number]);
}

void NcclPath::allreduce_now(const InStream& what, const device::Event& made, device::Event& done) {
  if (what.buffers.empty()) throw Error::bad_input("there is nothing to reduce");
  const DType dtype = what.buffers.front().dtype;
  if (!nccl_can(dtype, what.op)) throw Error::bad_input("NCCL has no {} of {}", name(what.op), name(dtype));
  std::size_t bytes = 0;
  for (const Buffer& buffer : what.buffers) {
    if (buffer.device != gpu_ || buffer.dtype != dtype)
      throw Error::bad_input("buffers that are reduced at once must be {} on GPU {}; one is {} on GPU {}", name(dtype),
                             gpu_, name(buffer.dtype), buffer.device);
    bytes += lined_up(buffer.bytes());
  }
  if (what.number >= registered_.size() || registered_[what.number].size() < bytes)
    throw Error::bad_input("memory {} was not reserved for {} that are reduced in a stream", what.number,
                           format_bytes(bytes));
  std::byte* const memory = registered_[what.number].data();
  const auto each = [&](auto copy) {
    std::byte* next = memory;
    for (const Buffer& buffer : what.buffers) {
      copy(buffer, next);
      next += lined_up(buffer.bytes());
    }
  };
  stream_.wait(made);
  each([&](const Buffer& buffer, std::byte* at) { device::copy_async(at, buffer.data, buffer.bytes(), stream_); });
  const DeviceLink::Piece all{memory, memory, bytes / size_of(dtype)};
  if (bytes > 0) data_->allreduce({&all, 1}, dtype, what.op, stream_);
  each([&](const Buffer& buffer, std::byte* at) { device::copy_async(buffer.data, at, buffer.bytes(), stream_); });
  done.record(stream_);
}

void NcclPath::hold(const std::vector<Work>& works, std::shared_ptr<const void> more) {
  Held held{.done = device::Event(stream_), .since = monotonic_now(), .keeps = {std::move(more)}};
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
  while (!held_.empty() && held_.front().done.ready()) held_.pop_front();
  return !held_.empty();
}

void NcclPath::member_left(std::chrono::nanoseconds now) {
  if (data_ && left_at_.count() == 0) left_at_ = now;
}

// Where steps are recorded and launched as one, only the streams know what is under way: after a member has gone
// nothing of it can end.
void NcclPath::watch(std::chrono::nanoseconds now) {
  if (!data_ || connecting_) return;
  const bool lost = left_at_.count() > 0 && now - left_at_ > kLastPatience;
  try {
    if (!lost) data_->check();
  } catch (const Error&) {  // a member may be recording or launching steps with it: why_not() tells
    given_up_ = std::move(data_);
    held_.clear();
    throw;
  }
  if (!busy() && !lost) return;
  const auto waits = held_.empty() ? now - left_at_ : now - held_.front().since;
  if (!lost && (options_.stuck.count() == 0 || waits < options_.stuck)) return;
  data_->abort();
  given_up_ = std::move(data_);
  held_.clear();
  throw Error(Error::Kind::Timeout, fmt::format("collectives of GPUs were given up after {}{}", format_duration(waits),
                                                lost ? ", since a member has gone" : " (comm.stall_abort)"));
}

void NcclPath::stop() {
  connecting_ = false;
  given_up_.reset();
  if (!data_) return;
  const Deadline deadline = Deadline::after(kLastPatience);
  try {
    while (busy() && !deadline.passed()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } catch (const Error&) {
    data_->abort();
  }
  if (!held_.empty() || left_at_.count() > 0) data_->abort();
  data_.reset();
  held_.clear();
}

}  // namespace ronde::comm::detail
