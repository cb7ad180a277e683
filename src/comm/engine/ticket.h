#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "ronde/base/error.h"
#include "ronde/comm/execute/unit.h"
#include "ronde/comm/request.h"
#include "ronde/device/stream.h"

namespace ronde::comm::detail {

class EngineCore;
class GroupCore;

// How often the program has waited for something; and how often it could see what was done, steps included.
struct ProgramClock {
  std::atomic<std::uint64_t> waits = 0, looks = 0;
  void waited() {
    waits.fetch_add(1, std::memory_order_relaxed);
    looks.fetch_add(1, std::memory_order_relaxed);
  }
};

// A request on its way, shared by the engine and the program's handles. The engine fills in what came of it and then
// finishes it; from then on nothing changes any more, and everyone may read.
class Ticket : public Unit {
 public:
  Request request = {};
  NameSlot* slot = nullptr;  // the request's own name, in use until it is finished
  std::chrono::nanoseconds submitted{0};
  EngineCore* engine = nullptr;
  std::shared_ptr<ProgramClock> clock = nullptr;
  std::shared_ptr<GroupCore> group = nullptr;
  std::shared_ptr<Ticket> self = nullptr;  // keeps it while the engine works on it
  std::atomic<bool> noted = false;         // the engine has been told that the program waits for it,
  bool wanted = false;                     // and counts it

  // Buffers of GPUs: when the input is made, and when the result is.
  std::optional<device::Event> made_on_gpu = {}, done_on_gpu = {};

  Result result = {};
  std::optional<Error> error = {};
  std::shared_ptr<GroupCore> made = nullptr;  // of a make_group

  static Ticket& of(Unit& unit) { return static_cast<Ticket&>(unit); }
  Unit* first = this;  // of those that were submitted together; all of them end together

  bool ready() const { return (state_.load(std::memory_order_acquire) & kReady) != 0; }
  // The engine: done, or failed. Wakes whoever waits. The ticket may be gone afterwards.
  void finish();
  static constexpr std::chrono::milliseconds kCheckInterval{50};  // of an Interruptible
  // Sleeps until it is ready. FAILS WITH: what an Interruptible of this thread throws.
  void sleep();

 private:
  static constexpr std::uint32_t kReady = 1, kSleeper = 2;
  std::atomic<std::uint32_t> state_ = 0;
};

// "allreduce 'w'", "barrier 3"
std::string title(const Ticket& ticket);

}  // namespace ronde::comm::detail
