#include "ronde/comm/engine/ticket.h"

#include <functional>

#include "ronde/base/text/format.h"
#include "ronde/comm/interruptible.h"
#include "ronde/comm/support/futex.h"

namespace ronde::comm::detail {

void Ticket::finish() {
  const std::shared_ptr<Ticket> keep = std::move(self);
  if (slot) NameTable::close(*slot);
  if (key && key != slot) NameTable::close(*key);
  const std::uint32_t before = state_.fetch_or(kReady, std::memory_order_acq_rel);
  if (before & kSleeper) support::futex_wake_all(state_);
}

void Ticket::sleep() {
  const std::function<void()>* const check = Interruptible::check();
  for (;;) {
    const std::uint32_t before = state_.fetch_or(kSleeper, std::memory_order_acq_rel);
    if (before & kReady) return;
    support::futex_wait(state_, before | kSleeper, check ? Deadline::after(kCheckInterval) : Deadline());
    if (check && !ready()) (*check)();
  }
}

std::string title(const Ticket& ticket) {
  const auto operation = name(ticket.request.operation);
  if (!ticket.request.name.empty()) return fmt::format("{} '{}'", operation, ticket.request.name);
  return fmt::format("{} (request {} without a name)", operation, ticket.sequence);
}

}  // namespace ronde::comm::detail
