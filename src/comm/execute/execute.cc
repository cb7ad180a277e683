#include "ronde/comm/execute/execute.h"

#include <cstring>

#include "ronde/base/error.h"
#include "ronde/comm/engine/group_core.h"
#include "ronde/comm/execute/execute_adasum.h"
#include "ronde/comm/execute/rows.h"
#include "ronde/comm/execute/staging.h"
#include "ronde/comm/math/convert.h"

namespace ronde::comm::detail {
namespace {

Rows equal_shares(std::int64_t rows, int members) {
  Rows shares(static_cast<std::size_t>(members), rows / members);
  for (std::int64_t i = 0; i < rows % members; ++i) ++shares[static_cast<std::size_t>(i)];
  return shares;
}

std::vector<std::uint64_t> as_words(const Rows& rows) {
  return {rows.begin(), rows.end()};
}

// What members have told, for a result whose rows are as long as those of `shape`.
Rows rows_told(std::span<const std::uint64_t> told, const Shape& shape, const Ticket& ticket) {
  return checked_rows(told, shape.elements_per_row() * size_of(ticket.description.dtype), ticket.group->ranks());
}

template <class Staged, class Piece>
std::vector<Piece> pieces(const Staged& staged, const Rows& rows) {
  std::vector<Piece> pieces;
  std::int64_t begin = 0;
  for (const std::int64_t count : rows) {
    pieces.push_back(staged.rows(begin, count));
    begin += count;
  }
  return pieces;
}

Task allgather(Link& link, Ticket& ticket, bool to_all) {
  const int root = ticket.description.root;
  const std::vector<std::uint64_t> given(1, static_cast<std::uint64_t>(ticket.request.input.shape.rows()));
  std::vector<std::uint64_t> all;
  co_await link.share(given, all);
  const Rows rows = rows_told(all, ticket.request.input.shape, ticket);
  const Packed mine(ticket.request.input, ticket.description);
  if (to_all || link.rank() == root) {
    Unpacked out(ticket, ticket.request.input.shape.with_rows(total_of(rows)));
    ticket.result.splits = rows;
    const auto places = pieces<Unpacked, Bytes>(out, rows);
    if (to_all) {
      co_await link.allgather(mine.bytes(), places);
    } else {
      std::vector<ConstBytes> send(rows.size());
      send[static_cast<std::size_t>(root)] = mine.bytes();
      co_await link.alltoall(send, places);
    }
    out.finish();
    co_return;
  }
  std::vector<ConstBytes> send(rows.size());
  send[static_cast<std::size_t>(root)] = mine.bytes();
  co_await link.alltoall(send, std::vector<Bytes>(rows.size()));
}

Task scatter(Link& link, Ticket& ticket) {
  const Request& request = ticket.request;
  const bool is_root = link.rank() == request.root;
  Rows rows(static_cast<std::size_t>(link.size()), 0);
  if (is_root) rows = request.splits.empty() ? equal_shares(request.input.shape.rows(), link.size()) : request.splits;
  std::vector<std::uint64_t> from_each;
  co_await link.swap(as_words(rows), from_each);
  const auto root = static_cast<std::size_t>(request.root), members = rows.size();
  const Shape& shape = is_root ? request.input.shape : request.output.shape;
  std::vector<std::uint64_t> told(members, 0);
  told[root] = from_each[root];
  Unpacked out(ticket, shape.with_rows(total_of(rows_told(told, shape, ticket))));
  std::vector<ConstBytes> send(members);
  const Packed in(is_root ? request.input : Buffer{.shape = {0}}, is_root ? ticket.description : Description{});
  if (is_root) send = pieces<Packed, ConstBytes>(in, rows);
  std::vector<Bytes> places(members);
  places[root] = out.bytes();
  co_await link.alltoall(send, places);
  out.finish();
}

Task alltoall(Link& link, Ticket& ticket) {
  const Request& request = ticket.request;
  const Rows sent = request.splits.empty() ? equal_shares(request.input.shape.rows(), link.size()) : request.splits;
  std::vector<std::uint64_t> told;  // what each has for this member
  co_await link.swap(as_words(sent), told);
  const Rows rows = rows_told(told, request.input.shape, ticket);
  Unpacked out(ticket, request.input.shape.with_rows(total_of(rows)));
  ticket.result.splits = rows;
  const Packed in(request.input, ticket.description);
  co_await link.alltoall(pieces<Packed, ConstBytes>(in, sent), pieces<Unpacked, Bytes>(out, rows));
  out.finish();
}

Task reduce_scatter(Link& link, Ticket& ticket) {
  const Shape& shape = ticket.request.input.shape;
  const Rows rows = equal_shares(shape.rows(), link.size());
  Unpacked out(ticket, shape.with_rows(rows[static_cast<std::size_t>(link.rank())]));
  const Packed in(ticket.request.input, ticket.description);
  co_await link.reduce_scatter(pieces<Packed, ConstBytes>(in, rows), out.bytes(),
                               reduction_of(ticket.description, link.size()));
  out.finish();
}

// Operations whose result has the shape of the input: in place, unless the user gave an output.
void aim_at_input(Ticket& ticket) {
  if (!ticket.request.output.data) ticket.request.output = ticket.request.input;
}

Task reduce(Link& link, Ticket& ticket) {
  const Packed in(ticket.request.input, ticket.description);
  const math::Reduction reduction = reduction_of(ticket.description, link.size());
  const int root = ticket.description.root;
  if (link.rank() != root) {
    co_await link.reduce(in.bytes(), {}, root, reduction);
    co_return;
  }
  aim_at_input(ticket);
  Unpacked out(ticket, ticket.request.input.shape);
  co_await link.reduce(in.bytes(), out.bytes(), root, reduction);
  out.finish();
}

// Also what one member sends to another: a broadcast between two.
Task broadcast(Link& link, Ticket& ticket, int root) {
  const bool is_root = link.rank() == root;
  if (ticket.request.operation == Operation::Send) {
    const Packed in(ticket.request.input, ticket.description);
    co_await link.broadcast({const_cast<std::byte*>(in.bytes().data()), in.bytes().size()}, root);
    co_return;
  }
  if (ticket.request.operation == Operation::Broadcast) aim_at_input(ticket);
  Unpacked out(ticket, ticket.description.shape);
  if (is_root) {
    const Packed in(ticket.request.input, ticket.description);
    if (!in.bytes().empty() && in.bytes().data() != out.bytes().data()) link.copy_here(out.bytes(), in.bytes());
  }
  co_await link.broadcast(out.bytes(), root);
  out.finish();  // also on the root: everyone has the same bits, whatever was lost on the way
}

bool in_scratch(const Work& work) {
  return !work.ticket || wire_type(*work.description) != work.description->dtype;
}

// Puts the values where they will be reduced; returns that place.
std::byte* load(const Work& work, std::byte* scratch) {
  if (work.ticket) work.ticket->result.output = in_place_output(work.ticket->request);
  const Description& description = *work.description;
  const DType wire = wire_type(description);
  const std::size_t count = description.shape.elements();
  if (count == 0) return nullptr;
  if (!work.ticket) {
    std::memset(scratch, 0, wire_bytes(work));
    return scratch;
  }
  const auto* input = static_cast<const std::byte*>(work.ticket->request.input.data);
  if (in_scratch(work)) {
    pack(scratch, input, count, description);
    return scratch;
  }
  auto* place = static_cast<std::byte*>(work.ticket->result.output.data);
  if (place != input) std::memcpy(place, input, wire_bytes(work));
  if (!prescale_can_wait(description)) math::scale(wire, place, count, description.prescale);
  return place;
}

void unload(const Work& work, const std::byte* scratch) {
  const std::size_t count = work.description->shape.elements();
  if (!work.ticket || !in_scratch(work) || count == 0) return;
  auto* place = static_cast<std::byte*>(work.ticket->result.output.data);
  math::convert(work.description->dtype, place, wire_type(*work.description), scratch, count);
}

Task execute_reduction(Link& link, std::vector<Work> works, Scratch& scratch) {
  std::size_t room = 0;
  for (const Work& work : works) room += in_scratch(work) ? wire_bytes(work) : 0;
  std::byte* const memory = scratch.take(room);
  Segments segments;
  std::byte* next = memory;
  for (const Work& work : works) {
    segments.add({load(work, next), wire_bytes(work)});
    if (in_scratch(work)) next += wire_bytes(work);
  }
  if (segments.size() > 0)
    co_await link.allreduce(std::move(segments), reduction_of(*works.front().description, link.size()));
  next = memory;
  for (const Work& work : works) {
    unload(work, next);
    if (in_scratch(work)) next += wire_bytes(work);
  }
}

}  // namespace

std::byte* Scratch::take(std::size_t bytes) {
  if (bytes <= size_) return data_;
  give_back();
  data_ = arena_.allocate(bytes);
  size_ = bytes;
  return data_;
}

void Scratch::give_back() {
  if (data_) arena_.free(data_);
  data_ = nullptr;
  size_ = 0;
}

std::size_t wire_bytes(const Work& work) {
  return work.description->shape.elements() * size_of(wire_type(*work.description));
}

std::vector<Work> work_of(const Bucket& bucket) {
  std::vector<Work> work;
  for (const BucketItem& item : bucket) {
    for (Unit* part = item.unit; part; part = part->next) work.push_back({&Ticket::of(*part), &part->description});
    for (const Description& description : item.descriptions) work.push_back({nullptr, &description});
  }
  return work;
}

Task execute_allreduce(Link& link, std::vector<Work> works, Scratch& scratch) {
  if (works.front().description->op == ReduceOp::Adasum) return execute_adasum(link, std::move(works), scratch);
  return execute_reduction(link, std::move(works), scratch);
}

Task execute_alone(Link& link, const Work& work, Scratch& scratch) {
  Ticket* ticket = work.ticket;
  switch (work.description->operation) {
    case Operation::Allreduce: return execute_allreduce(link, {work}, scratch);
    case Operation::Barrier: return link.barrier();
    case Operation::Allgather: return allgather(link, *ticket, true);
    case Operation::Gather: return allgather(link, *ticket, false);
    case Operation::Scatter: return scatter(link, *ticket);
    case Operation::Alltoall: return alltoall(link, *ticket);
    case Operation::ReduceScatter: return reduce_scatter(link, *ticket);
    case Operation::Reduce: return reduce(link, *ticket);
    case Operation::Broadcast: return broadcast(link, *ticket, ticket->description.root);
    case Operation::Send: return broadcast(link, *ticket, 0);
    default: throw Error(Error::Kind::Bug, "an operation that moves no data");
  }
}

}  // namespace ronde::comm::detail
