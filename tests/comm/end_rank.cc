// usage: end_rank WAY. How a rank may end, under mpirun.
//   late: the others leave, rank 0 has its model to save for 6 s more and prints "saved".
//   exit: exit(0) while the engine lives.
//   fail: the same, and rank 1 exits with 3.
//   fork: each rank forks one child that calls exit(0) and one that leaves the engine's scope, then works on.
//   race: exit(0) on one thread while another destroys the engine; on rank 0 the engine's end is the first of the two.
//   work: works until something fails, which it prints, and exits with 7.

#include <chrono>
#include <cstdlib>
#include <future>
#include <iostream>
#include <latch>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/comm/testing/program.h"

namespace ronde::comm::tests {
namespace {

using namespace std::chrono_literals;

void step(Engine& engine) {
  std::vector<float> values(1'000'000, 1.0f);  // too many for the connections of votes: MPI carries them
  engine.world().allreduce("values", buffer_of(values)).wait();
}

void come_late() {
  {
    const auto engine = make_engine();
    step(*engine);
    if (engine->rank() != 0) return;
  }
  std::this_thread::sleep_for(6s);
  say("saved");
}

void exit_at_work(int code_of_one) {
  Engine* const engine = make_engine().release();
  for (int i = 0; i < 3; ++i) step(*engine);
  auto* const values = new std::vector<float>(1'000'000, 1.0f);  // like the engine, never destroyed
  try {
    if (engine->rank() == 0) engine->world().allreduce("never", buffer_of(*values));  // still on its way
  } catch (const Error&) {                                                            // the others have left already
  }
  std::exit(engine->rank() == 1 ? code_of_one : 0);
}

// The code with which a forked child ends that runs this; 9: it is still there after 20 s.
template <class Body>
int code_of_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  for (int i = 0; i < 200; ++i) {
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 8;
    std::this_thread::sleep_for(100ms);
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return 9;
}

void fork_children() {
  auto engine = make_engine();
  step(*engine);
  const int by_exit = code_of_child([] { std::exit(0); });
  const int by_scope = code_of_child([&] { engine.reset(); });
  step(*engine);
  if (by_exit != 0 || by_scope != 0)
    throw Error(Error::Kind::System, fmt::format("children ended with {} and {}", by_exit, by_scope));
  say("worked on");
}

// Each waits until the other's end has begun.
void race() {
  auto* const ending = new std::latch(1);  // like the engine's thread, they outlive main
  const auto on_phase = [ending](Phase phase) {
    if (phase != Phase::ShuttingDown) return;
    ending->count_down();
    std::this_thread::sleep_for(300ms);
  };
  auto* const engine = new std::unique_ptr<Engine>(make_engine(options_of_process(), {.on_phase = on_phase}));
  step(**engine);
  const bool destroys_first = (*engine)->rank() == 0;
  std::thread([=] {
    if (!destroys_first) ending->wait();
    engine->reset();
  }).detach();
  if (destroys_first) ending->wait();
  std::exit(0);
}

void work() {
  const auto engine = make_engine();
  try {
    for (int i = 0; i < 10'000; ++i) step(*engine);
  } catch (const Error& error) {
    std::cerr << fmt::format("rank {}: {}\n", engine->rank(), error.what()) << std::flush;
    engine->shutdown(error.what());
    std::exit(7);
  }
}

}  // namespace
}  // namespace ronde::comm::tests

int main(int argc, char** argv) {
  using namespace ronde::comm::tests;
  const std::string_view way = argc > 1 ? argv[1] : "";
  if (way == "late") return run_program(come_late);
  if (way == "exit") exit_at_work(0);
  if (way == "fail") exit_at_work(3);
  if (way == "fork") return run_program(fork_children);
  if (way == "race") return run_program(race);
  if (way == "work") return run_program(work);
  return 2;
}
