#include "ronde/tune/schedulers/scheduler.h"

namespace ronde::tune {
namespace {

class Fifo : public Scheduler {
 public:
  Decision on_report(const Report& /*report*/) override { return {}; }
};

}  // namespace

SchedulerEntry fifo_entry() {
  return {.name = "fifo",
          .help = "every trial runs until its stop criteria",
          .make = [](const SchedulerOptions&) -> std::unique_ptr<Scheduler> { return std::make_unique<Fifo>(); }};
}

}  // namespace ronde::tune
