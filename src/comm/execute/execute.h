#pragma once

#include <vector>

#include "ronde/comm/engine/ticket.h"
#include "ronde/comm/link/link.h"
#include "ronde/comm/link/shm/arena.h"

// Moves the data of what has been agreed on, and fills in the results; finishing the tickets is left to the caller.
// A result that does not fit its place is noted as that ticket's error, while the member still does its part.
namespace ronde::comm::detail {

// A request of a bucket. Without a ticket: another member's, to which this one, having joined, contributes zeros.
struct Work {
  Ticket* ticket = nullptr;
  const Description* description = nullptr;
};
std::vector<Work> work_of(const Bucket& bucket);

// What it takes on its way: half of its values' bytes, where f32 is compressed.
std::size_t wire_bytes(const Work& work);

// So that what lies behind so many bytes begins a cache line.
constexpr std::size_t lined_up(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

// Memory that the link uses directly, for what is compressed. Kept from one bucket to the next: memory that is new
// each time costs more than what is done with it.
class Scratch {
 public:
  explicit Scratch(Arena& arena) : arena_(arena) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // The same memory as before, if that is large enough. FAILS WITH: System when there is none left.
  std::byte* take(std::size_t bytes);
  // REQUIRES: the arena is still there. Without it, the memory stays until the arena goes.
  void give_back();

 private:
  Arena& arena_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Requests that are reduced to everyone in one go; all of one kind.
Task execute_allreduce(Link& link, std::vector<Work> works, Scratch& scratch);

// One request of any kind. REQUIRES: `work` stays until the task is done, or is an allreduce or a barrier.
Task execute_alone(Link& link, const Work& work, Scratch& scratch);

}  // namespace ronde::comm::detail
