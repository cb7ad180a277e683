// usage: end_rank WAY. How a rank may end, under mpirun.
//   late: the others leave, rank 0 has its model to save for 6 s more and prints "saved".
//   exit: exit(0) while the engine lives.
//   fail: the same, and rank 1 exits with 3.
//   both: exit(0) while another thread is destroying the engine.
//   work: works until something fails, which it prints, and exits with 7.

#include <chrono>
#include <cstdlib>
#include <future>
#include <iostream>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

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

void exit_while_it_goes() {
  auto* const going = new std::promise<void>;  // like the engine's thread, there to the end
  EngineOptions options = options_of_process();
  options.on_phase = [going](Phase phase) {
    if (phase != Phase::ShuttingDown) return;
    going->set_value();
    std::this_thread::sleep_for(300ms);  // exit() comes to the engine meanwhile
  };
  Engine* const engine = make_engine(std::move(options)).release();
  step(*engine);
  std::thread([engine] { delete engine; }).detach();
  going->get_future().wait();
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
  if (way == "both") exit_while_it_goes();
  if (way == "work") return run_program(work);
  return 2;
}
