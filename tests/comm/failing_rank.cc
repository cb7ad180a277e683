// usage: failing_rank HOW PHASE VICTIM
// The victim ends (HOW: kill, exit, throw or _exit) when its engine comes into PHASE (negotiating, voting, reducing,
// shutting_down), has nothing to do (idle), or is not there yet (starting). The others say when and what they hear of
// it, and that they have left by the front door.

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "ronde/base/system/clock.h"
#include "ronde/base/text/format.h"
#include "ronde/comm/testing/program.h"

namespace ronde::comm::tests {
namespace {

struct Task {
  std::string how;
  std::string phase;
  int victim;
};

const std::map<std::string, Phase>& phases() {
  static const std::map<std::string, Phase> phases{{"idle", Phase::Idle},
                                                   {"negotiating", Phase::Negotiating},
                                                   {"voting", Phase::Voting},
                                                   {"reducing", Phase::Reducing},
                                                   {"shutting_down", Phase::ShuttingDown}};
  return phases;
}

// Ends this process in the middle of things. "throw" is left to the program itself.
void end_process(const std::string& how) {
  say(fmt::format("ends at {}", monotonic_now().count()));
  if (how == "kill") ::kill(::getpid(), SIGKILL);
  if (how == "exit") std::exit(0);
  if (how == "_exit") ::_exit(3);
}

struct Doom {
  Task task;
  Phase phase = Phase::Idle;  // not looked up when it comes: another thread may be in exit() by then
  std::atomic<bool> armed = false;
  std::atomic<bool> reached = false;

  void phase_comes(Phase now) {
    if (!armed || now != phase || phase == Phase::Idle || reached.exchange(true)) return;
    end_process(task.how);
  }
};

// Waits, and throws when the time has come for it.
void wait(const Handle& handle, const Doom* doom) {
  while (doom != nullptr && !handle.poll())
    if (doom->reached && doom->task.how == "throw") throw std::runtime_error("the victim throws");
  handle.wait();
}

// Must outlive the engine: when a step is left by an exception, its requests are still on their way.
struct Tensors {
  std::vector<std::vector<float>> gradients{std::vector<float>(10), std::vector<float>(1000),
                                            std::vector<float>(300'000)};
  std::vector<float> fresh{1.0f, 2.0f};
};

// One step, the same each time: so that there are plans to vote on.
void step(Engine& engine, Tensors& tensors, const Doom* doom) {
  std::vector<Handle> handles;
  for (std::vector<float>& gradient : tensors.gradients)
    handles.push_back(engine.world().allreduce(fmt::format("gradient {}", handles.size()), buffer_of(gradient)));
  for (const Handle& handle : handles) wait(handle, doom);
}

[[noreturn]] void be_the_victim(Engine& engine, Tensors& tensors, Doom& doom) {
  const std::string& phase = doom.task.phase;
  for (int i = 0; i < 2; ++i) step(engine, tensors, &doom);
  doom.armed = true;
  if (phase == "idle") {  // its program asks for nothing more
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    doom.reached = true;
    end_process(doom.task.how);
  }
  if (phase == "shutting_down") engine.shutdown();
  for (int i = 0; i < 100 && !doom.reached; ++i) step(engine, tensors, &doom);
  // Negotiations are for what is new.
  if (phase == "negotiating" && !doom.reached) wait(engine.world().allreduce("fresh", buffer_of(tensors.fresh)), &doom);
  for (int i = 0; i < 2000 && !doom.reached; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (doom.reached && doom.task.how == "throw") throw std::runtime_error("the victim throws");
  while (doom.reached) std::this_thread::sleep_for(std::chrono::seconds(1));  // another thread is about to end us
  say("the phase never came");
  ::_exit(9);
}

void survive(const Task& task, int rank) {
  std::signal(SIGTERM, SIG_IGN);  // the launcher tells all to stop when one fails; here they end by themselves
  std::ofstream(fmt::format("ready.{}", rank));
  std::atexit([] { say("leaves by the front door"); });
  Tensors tensors;
  try {
    const auto engine = make_engine();
    if (task.phase == "starting") throw std::runtime_error("it started without the victim");
    while (true) step(*engine, tensors, nullptr);
  } catch (const Error& error) {
    const bool names_it = error.ranks() == std::vector{task.victim};
    say(fmt::format("hears at {}: {}: {}{}", monotonic_now().count(), name(error.kind()), error.what(),
                    names_it ? "" : fmt::format(" BUT IT BLAMES {}", fmt::join(error.ranks(), ","))));
  }
}

void run(const Task& task) {
  const int rank = std::stoi(Environment::of_process().get(kRankVariable).value_or("0"));
  if (rank != task.victim) return survive(task, rank);
  if (task.phase == "starting") {
    const int size = std::stoi(Environment::of_process().get(kSizeVariable).value_or("1"));
    for (int other = 0; other < size; ++other)
      while (other != rank && !std::filesystem::exists(fmt::format("ready.{}", other)))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    end_process(task.how);
    throw std::runtime_error("the victim throws");
  }
  Doom doom{.task = task, .phase = phases().at(task.phase)};
  Tensors tensors;
  const auto engine = make_engine(options_of_process(), {.on_phase = [&](Phase phase) { doom.phase_comes(phase); }});
  be_the_victim(*engine, tensors, doom);
}

}  // namespace
}  // namespace ronde::comm::tests

int main(int count, char** arguments) {
  return ronde::comm::tests::run_program([&] {
    if (count != 4) throw std::runtime_error("usage: failing_rank HOW PHASE VICTIM");
    ronde::comm::tests::run({.how = arguments[1], .phase = arguments[2], .victim = std::stoi(arguments[3])});
  });
}
