// What ranks send each other to agree, in steady state, in an idle second, and while one of them is silent and the
// others wait; and which threads wake while they call one collective after the other. Counted, not timed: ranks are
// threads.
#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <sstream>
#include <thread>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/bench/benchmarks.h"
#include "ronde/bench/comm/control_simulated.h"
#include "ronde/comm/engine.h"
#include "ronde/comm/thread_job.h"

namespace ronde::bench {
namespace {

using namespace std::chrono_literals;

constexpr int kLearningSteps = 5;  // the plan needs three
constexpr int kSteps = 10;
constexpr int kCalls = 200;
constexpr std::size_t kTensorBytes = 16;
constexpr auto kSettle = 200ms;      // until engines that have just worked sleep,
constexpr auto kSettleForGood = 1s;  // and have looked for stalls for the last time
constexpr int kSilence = 3;          // seconds

struct Case {
  int ranks = 2;
  int nodes = 1;
  int tensors = 10;
  int buckets = 1;
};

// What the ranks together found: of each count the most that any rank has.
struct Counts {
  std::uint64_t buckets = 0, messages = 0, bytes = 0;      // in kSteps
  std::uint64_t calls_wake_ups = 0;                        // of the engine's thread, in kCalls blocking calls
  std::uint64_t idle_messages = 0, idle_wake_ups = 0;      // in a second
  std::uint64_t silent_messages = 0, silent_wake_ups = 0;  // in kSilence
  std::uint64_t silent_watchdog_wake_ups = 0;              // likewise
};

comm::EngineOptions options_for(const Case& what) {
  const auto bytes = static_cast<std::size_t>(what.tensors) * kTensorBytes / static_cast<std::size_t>(what.buckets);
  comm::EngineOptions options;
  options.fusion_bytes = options.first_bucket_bytes = std::max(bytes, kTensorBytes);
  options.pretend_nodes = what.nodes;
  options.stall_warn = 2s;  // what is asked before it is reported belongs to the silence
  return options;
}

// A rank's tensors, and a step with them.
class Steps {
 public:
  Steps(comm::Group group, int tensors)
      : group_(std::move(group)), values_(static_cast<std::size_t>(tensors)), handles_(values_.size()) {
    for (int i = 0; i < tensors; ++i) names_.push_back(fmt::format("tensor.{}", i));
  }
  void begin() {
    for (std::size_t i = 0; i < values_.size(); ++i)
      handles_[i] = group_.allreduce(names_[i], comm::buffer_of(std::span<float>(values_[i])));
  }
  void end() {
    for (const comm::Handle& handle : handles_) handle.wait();
  }
  void run(int steps) {
    for (int step = 0; step < steps; ++step) {
      begin();
      end();
    }
  }

 private:
  comm::Group group_;
  std::vector<std::array<float, kTensorBytes / sizeof(float)>> values_;
  std::vector<comm::Handle> handles_;
  std::vector<std::string> names_;
};

struct Silence {
  std::uint64_t messages = 0, wake_ups = 0, watchdog_wake_ups = 0;
};

// The last rank does not come; of those that wait for it. (Its own engine sleeps as in an idle second.)
Silence count_silence(comm::Engine& engine, Steps& steps, std::barrier<>& together) {
  const bool silent = engine.rank() + 1 == engine.size();
  if (!silent) steps.begin();
  std::this_thread::sleep_for(kSettle);
  const comm::Statistics before = engine.statistics();
  std::this_thread::sleep_for(std::chrono::seconds(kSilence));
  const comm::Statistics after = engine.statistics();
  together.arrive_and_wait();
  if (silent) steps.begin();
  steps.end();
  together.arrive_and_wait();
  return {after.control_messages - before.control_messages, after.wake_ups - before.wake_ups,
          after.watchdog_wake_ups - before.watchdog_wake_ups};
}

// Of the engine's thread; the first calls make another plan.
std::uint64_t count_calls(comm::Engine& engine, std::barrier<>& together) {
  std::array<float, kTensorBytes / sizeof(float)> values{};
  const auto call = [&](int times) {
    for (int i = 0; i < times; ++i)
      engine.world().run({.name = "call", .input = comm::buffer_of(std::span<float>(values))});
  };
  call(2 * kLearningSteps);
  together.arrive_and_wait();
  std::this_thread::sleep_for(kSettle);
  const comm::Statistics before = engine.statistics();
  together.arrive_and_wait();
  call(kCalls);
  const comm::Statistics after = engine.statistics();
  together.arrive_and_wait();
  return after.wake_ups - before.wake_ups;
}

Counts count_rank(comm::Engine& engine, const Case& what, std::barrier<>& together) {
  Steps steps(engine.world(), what.tensors);
  steps.run(kLearningSteps);
  together.arrive_and_wait();
  const comm::Statistics before = engine.statistics();
  together.arrive_and_wait();  // nobody may begin before all have looked
  steps.run(kSteps);
  together.arrive_and_wait();
  const comm::Statistics after = engine.statistics();
  std::this_thread::sleep_for(kSettleForGood);
  const comm::Statistics idle = engine.statistics();
  std::this_thread::sleep_for(1s);
  const comm::Statistics end = engine.statistics();
  together.arrive_and_wait();  // nobody may leave, or begin, before the second is over
  const Silence silence = count_silence(engine, steps, together);
  const std::uint64_t calls = count_calls(engine, together);
  return {.buckets = after.buckets - before.buckets,
          .messages = after.control_messages - before.control_messages,
          .bytes = after.control_bytes - before.control_bytes,
          .calls_wake_ups = calls,
          .idle_messages = end.control_messages - idle.control_messages,
          .idle_wake_ups = end.wake_ups - idle.wake_ups + end.watchdog_wake_ups - idle.watchdog_wake_ups,
          .silent_messages = silence.messages,
          .silent_wake_ups = silence.wake_ups,
          .silent_watchdog_wake_ups = silence.watchdog_wake_ups};
}

Counts count(const Case& what) {
  std::vector<Counts> found(static_cast<std::size_t>(what.ranks));
  std::barrier together(what.ranks);
  std::ostringstream reports;  // that a rank does not come is no news here
  comm::EngineOptions options = options_for(what);
  options.log = Log({.stream = &reports});
  comm::run_ranks(
      what.ranks,
      [&](comm::Engine& engine) {
        try {
          found[static_cast<std::size_t>(engine.rank())] = count_rank(engine, what, together);
        } catch (...) {
          together.arrive_and_drop();  // so that the others end too
          throw;
        }
      },
      options);
  Counts most;
  for (const Counts& rank : found) {
    for (const auto member : {&Counts::buckets, &Counts::messages, &Counts::bytes, &Counts::calls_wake_ups,
                              &Counts::idle_messages, &Counts::idle_wake_ups, &Counts::silent_messages,
                              &Counts::silent_wake_ups, &Counts::silent_watchdog_wake_ups})
      most.*member = std::max(most.*member, rank.*member);
  }
  return most;
}

int log2_of(int count) {
  int rounds = 0;
  while (1 << rounds < count) ++rounds;
  return rounds;
}

// In which members agree: among each other, or their leaders among nodes, and then once more inside each node.
int rounds_of(const Case& what) {
  if (what.nodes == 1) return log2_of(what.ranks);
  return log2_of(what.nodes) + (what.ranks > what.nodes ? 1 : 0);
}

nlohmann::ordered_json make_row(const Case& what, const Counts& counts) {
  const auto a_step = [](std::uint64_t count) { return static_cast<double>(count) / kSteps; };
  const double buckets = a_step(counts.buckets), messages = a_step(counts.messages);
  const auto in_a_second = [](std::uint64_t count) { return static_cast<double>(count) / kSilence; };
  return {{"ranks", what.ranks},
          {"nodes", what.nodes},
          {"rounds", rounds_of(what)},
          {"tensors", what.tensors},
          {"buckets", buckets},
          {"messages_per_step", messages},
          {"messages_per_bucket", buckets > 0 ? messages / buckets : 0.0},
          {"bytes_per_step", a_step(counts.bytes)},
          {"wake_ups_per_call", static_cast<double>(counts.calls_wake_ups) / kCalls},
          {"idle_messages", counts.idle_messages},
          {"idle_wake_ups", counts.idle_wake_ups},
          {"silent_messages_per_s", in_a_second(counts.silent_messages)},
          {"silent_wake_ups_per_s", in_a_second(counts.silent_wake_ups)},
          {"silent_watchdog_wake_ups_per_s", in_a_second(counts.silent_watchdog_wake_ups)}};
}

// A vote goes to as many partners as it takes to halve the ranks down to one.
std::vector<Bar> make_bars(const nlohmann::ordered_json& rows) {
  Bar messages{"worst_messages_over_log2", "messages per bucket / necessary rounds, worst", 0, 1, false};
  Bar calls{"wake_ups_per_call", "wake-ups of the engine's thread per blocking call on one node, most", 0, 0, false};
  Bar idle{"idle_messages", "messages of a rank in an idle second, most", 0, 0, false};
  Bar wake_ups{"idle_wake_ups", "wake-ups of a rank in an idle second, most", 0, 0, false};
  Bar silent{"silent_messages", "messages of a rank in a second in which a peer is silent, most", 0, 10, false};
  Bar waiting{"silent_wake_ups", "wake-ups of a rank in a second in which a peer is silent, most", 0, 10, false};
  Bar watchdog{"silent_watchdog_wake_ups", "the same of its watchdog, most", 0, 10, false};
  for (const auto& row : rows) {
    const double rounds = std::max(1, row.at("rounds").get<int>());
    messages.value = std::max(messages.value, row.at("messages_per_bucket").get<double>() / rounds);
    if (row.at("nodes") == 1) calls.value = std::max(calls.value, row.at("wake_ups_per_call").get<double>());
    idle.value = std::max(idle.value, row.at("idle_messages").get<double>());
    wake_ups.value = std::max(wake_ups.value, row.at("idle_wake_ups").get<double>());
    silent.value = std::max(silent.value, row.at("silent_messages_per_s").get<double>());
    waiting.value = std::max(waiting.value, row.at("silent_wake_ups_per_s").get<double>());
    watchdog.value = std::max(watchdog.value, row.at("silent_watchdog_wake_ups_per_s").get<double>());
  }
  return {messages, calls, idle, wake_ups, silent, waiting, watchdog};
}

}  // namespace

Report run_control(const Options& options) {
  if (options.simulate > 0) return detail::run_simulated_control(options);
  const auto ranks = options.ranks.empty() ? std::vector{2, 4, 8, 16, 32, 64} : options.ranks;
  const auto tensors = options.tensors.empty() ? std::vector{10, 100, 1000, 10000} : options.tensors;
  Report report{.name = "control"};
  for (const int size : ranks)
    for (const int buckets : {1, 5})
      for (const int each : tensors) {
        const Case what{.ranks = size, .tensors = each, .buckets = buckets};
        report.rows.push_back(make_row(what, count(what)));
      }
  // Several nodes, with one rank each and with several.
  const int most = *std::ranges::max_element(ranks);
  for (const auto& [size, nodes] : {std::pair{2, 2}, {3, 3}, {6, 3}, {16, 8}}) {
    if (size > most) continue;
    const Case what{.ranks = size, .nodes = nodes, .tensors = tensors.front(), .buckets = 1};
    report.rows.push_back(make_row(what, count(what)));
  }
  report.bars = make_bars(report.rows);
  return report;
}

}  // namespace ronde::bench
