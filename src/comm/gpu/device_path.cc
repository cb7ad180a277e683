#include "ronde/comm/gpu/device_path.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "ronde/comm/execute/staging.h"
#include "ronde/comm/math/convert.h"

namespace ronde::comm::detail {
namespace {

constexpr std::size_t kLeast = std::size_t{1} << 20;  // of what is pinned

bool in_place(Operation operation) {
  return operation == Operation::Allreduce || operation == Operation::Reduce || operation == Operation::Broadcast;
}

}  // namespace

std::byte* PinnedScratch::take(std::size_t bytes) {
  if (bytes <= pinned_.size()) return pinned_.data();
  pin_ = device::Pin();  // before its memory goes
  pinned_ = {};
  bytes = std::max(bytes, kLeast);
  const std::span<std::byte> memory(scratch_.take(bytes), bytes);
  pin_ = device::Pin(memory);
  pinned_ = memory;
  return memory.data();
}

void PinnedScratch::give_back() {
  pin_ = device::Pin();
  pinned_ = {};
  scratch_.give_back();
}

// A request whose buffers have been exchanged for others on the host, and what they were.
struct DevicePath::Exchanged {
  // Takes its host memory from `next`, which moves on.
  Exchanged(Ticket& exchanged, std::byte*& next) : ticket(exchanged), mine(exchanged.request) {
    Request& request = ticket.request;
    const auto take = [&](Buffer& buffer) {
      if (!buffer.data) return;
      buffer.data = next;
      next += lined_up(buffer.bytes());
    };
    if (in_place(request.operation) && request.output.data == request.input.data) request.output.data = nullptr;
    take(request.input);
    take(request.output);
    request.input.device = request.output.device = device::kHost;
    request.allocate = nullptr;
  }
  static std::size_t room(const Request& request) {
    return lined_up(request.input.data ? request.input.bytes() : 0) +
           lined_up(request.output.data ? request.output.bytes() : 0);
  }

  void load(const device::Stream& down) const {
    if (ticket.made_on_gpu) down.wait(*ticket.made_on_gpu);
    if (mine.input.data) device::copy_async(ticket.request.input.data, mine.input.data, mine.input.bytes(), down);
  }

  // The request is as it was; its result goes to where the program wants it.
  void unload(const device::Stream& up) {
    ticket.request = mine;
    Buffer& result = ticket.result.output;
    if (!result.data || ticket.error) return;
    const Buffer there = result;
    const std::shared_ptr<void> keep = std::exchange(ticket.result.memory, nullptr);
    result.device = gpu_of(mine);
    if (mine.output.data) {
      result.data = mine.output.data;
    } else if (in_place(mine.operation)) {
      result.data = mine.input.data;
    } else {
      Memory memory =
          mine.allocate ? mine.allocate(result.dtype, result.shape) : make_memory(result.device, result.bytes());
      result.data = memory.data;
      ticket.result.memory = std::move(memory.owner);
      mark_made(ticket);  // work of the program's may still be using that memory
      if (ticket.made_on_gpu) up.wait(*ticket.made_on_gpu);
    }
    device::copy_async(result.data, there.data, there.bytes(), up);
    source = keep;
  }

  Ticket& ticket;
  const Request mine;
  std::shared_ptr<void> source = nullptr;  // of the copy that unload() has begun
};

DevicePath::DevicePath(Arena& arena, DevicePathOptions options)
    : wake_(std::move(options.wake)), on_host_(options.on_host), chunk_bytes_(options.chunk_bytes), pinned_(arena) {}

DevicePath::~DevicePath() {
  settle();
}

void DevicePath::settle() noexcept {
  for (const auto& [gpu, lanes] : lanes_)
    for (const Lane* lane : {&lanes.down, &lanes.up}) try {
        lane->stream.synchronize();
      } catch (const Error&) {  // a GPU that is broken calls nobody any more
      }
}

void DevicePath::stop() {
  settle();
  pinned_.give_back();
}

bool DevicePath::copies() const {
  const auto behind = [](const Lane& lane) { return lane.done.load(std::memory_order_acquire) < lane.asked; };
  return std::ranges::any_of(lanes_, [&](const auto& one) { return behind(one.second.down) || behind(one.second.up); });
}

void DevicePath::check() const {
  if (!copies()) return;
  for (const auto& [gpu, lanes] : lanes_) {
    lanes.down.stream.idle();
    lanes.up.stream.idle();
  }
}

bool DevicePath::takes(const Work& work) const {
  const Operation operation = work.description->operation;
  if (operation == Operation::Barrier || operation >= kMakeGroup) return false;
  return on_host_ || work.description->on_gpu;
}

DevicePath::Lanes& DevicePath::lanes_of(const std::vector<Work>& works) {
  int gpu = device::kHost;  // of a member that has joined: it has nothing to copy
  for (const Work& work : works)
    if (work.ticket) gpu = gpu_of(work.ticket->request);
  auto [place, fresh] = lanes_.try_emplace(gpu);
  Lanes& lanes = place->second;
  if (fresh) {
    lanes.down.stream = device::Stream(gpu, device::Priority::High);
    lanes.up.stream = device::Stream(gpu, device::Priority::High);
    lanes.down.wake = lanes.up.wake = &wake_;
  }
  return lanes;
}

// From here on `done` follows `asked`, when all before it is done.
void DevicePath::mark(Lane& lane) {
  ++lane.asked;
  device::call_after(
      lane.stream,
      [](void* context) {
        auto& mine = *static_cast<Lane*>(context);
        mine.done.fetch_add(1, std::memory_order_release);
        (*mine.wake)();
      },
      &lane);
}

Task DevicePath::drained(Lane& lane) {
  mark(lane);
  co_await reaches(lane.done, lane.asked);
}

Task DevicePath::run(Link& link, std::vector<Work> works, bool fused, Scratch& scratch) {
  if (fused && works.front().description->op != ReduceOp::Adasum) return in_chunks(link, std::move(works), scratch);
  return as_a_whole(link, std::move(works), fused, scratch);
}

namespace {

// A request's place in a bucket that is treated as one long row. Without memory: another member's.
struct Part {
  std::size_t at = 0, bytes = 0;
  std::byte *in = nullptr, *out = nullptr;
};

// Calls use(part, first, bytes) for what lies in [begin, end) of the row, `first` counted from the row's beginning.
template <class Use>
void for_parts(const std::vector<Part>& parts, std::size_t begin, std::size_t end, Use use) {
  for (const Part& part : parts) {
    const std::size_t first = std::max(begin, part.at), last = std::min(end, part.at + part.bytes);
    if (part.in && first < last) use(part, first, last - first);
  }
}

}  // namespace

// All values of a bucket are of one kind, so where one request ends and the next begins does not matter to a chunk.
Task DevicePath::in_chunks(Link& link, std::vector<Work> works, Scratch& scratch) {
  Lanes& lanes = lanes_of(works);
  const Description& kind = *works.front().description;
  std::vector<Part> parts;
  std::size_t total = 0;
  for (const Work& work : works) {
    Part part{.at = total, .bytes = work.description->shape.elements() * size_of(kind.dtype)};
    if (work.ticket) {
      if (work.ticket->made_on_gpu) lanes.down.stream.wait(*work.ticket->made_on_gpu);
      work.ticket->result.output = in_place_output(work.ticket->request);
      part.in = static_cast<std::byte*>(work.ticket->request.input.data);
      part.out = static_cast<std::byte*>(work.ticket->result.output.data);
    }
    total += part.bytes;
    parts.push_back(part);
  }
  if (total == 0) co_return;
  std::byte* const memory = pinned_.take(total);
  for (const Part& part : parts)  // a member that has joined gives zeros
    if (!part.in) std::memset(memory + part.at, 0, part.bytes);
  const auto begins = lanes.down.asked;
  for (std::size_t at = 0; at < total; at += chunk_bytes_) {
    for_parts(parts, at, std::min(at + chunk_bytes_, total),
              [&](const Part& part, std::size_t first, std::size_t bytes) {
                device::copy_async(memory + first, part.in + (first - part.at), bytes, lanes.down.stream);
              });
    mark(lanes.down);
  }
  std::uint64_t chunk = 0;
  for (std::size_t at = 0; at < total; at += chunk_bytes_) {
    const std::size_t end = std::min(at + chunk_bytes_, total);
    co_await reaches(lanes.down.done, begins + ++chunk);
    co_await reduce_chunk(link, {memory + at, end - at}, kind, scratch);
    for_parts(parts, at, end, [&](const Part& part, std::size_t first, std::size_t bytes) {
      device::copy_async(part.out + (first - part.at), memory + first, bytes, lanes.up.stream);
    });
  }
  co_await drained(lanes.up);
}

Task DevicePath::reduce_chunk(Link& link, Bytes values, const Description& kind, Scratch& scratch) {
  const std::size_t count = values.size() / size_of(kind.dtype);
  const DType wire = wire_type(kind);
  std::byte* travels = values.data();
  if (wire != kind.dtype) {
    travels = scratch.take(count * size_of(wire));
    pack(travels, values.data(), count, kind);
  } else if (!prescale_can_wait(kind)) {
    math::scale(wire, travels, count, kind.prescale);
  }
  co_await link.allreduce(Segments({travels, count * size_of(wire)}), reduction_of(kind, link.size()));
  if (wire != kind.dtype) math::convert(kind.dtype, values.data(), wire, travels, count);
}

Task DevicePath::as_a_whole(Link& link, std::vector<Work> works, bool fused, Scratch& scratch) {
  Lanes& lanes = lanes_of(works);
  std::size_t room = 0;
  for (const Work& work : works)
    if (work.ticket) room += Exchanged::room(work.ticket->request);
  std::byte* next = pinned_.take(std::max<std::size_t>(room, 1));
  std::vector<std::unique_ptr<Exchanged>> all;
  for (const Work& work : works) {
    if (!work.ticket) continue;
    all.push_back(std::make_unique<Exchanged>(*work.ticket, next));
    all.back()->load(lanes.down.stream);
  }
  co_await drained(lanes.down);
  if (fused) {
    co_await execute_allreduce(link, works, scratch);
  } else {
    for (const Work& work : works) co_await execute_alone(link, work, scratch);
  }
  for (const auto& one : all) one->unload(lanes.up.stream);
  co_await drained(lanes.up);
}

}  // namespace ronde::comm::detail
