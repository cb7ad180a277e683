// usage: mpi_program LEVEL [alone]. A program that starts MPI itself, with threads as LEVEL says (single, serialized or
// multiple), and then has an engine. With "multiple" it calls MPI while the engine works. Prints "ok". "alone": the
// other ranks stay away from the engine.

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "ronde/comm/testing/program.h"

namespace ronde::comm::tests {
namespace {

void check(const std::vector<float>& values, int size) {
  const auto wrong = [size](float value) { return value != static_cast<float>(size); };
  if (std::ranges::any_of(values, wrong)) throw std::runtime_error("a wrong sum");
}

// MPI's own collectives, on the program's own communicator, until the engine is done.
void call_mpi(const std::atomic<bool>& done, int size) {
  for (int stop = 0; !stop;) {
    int mine = done ? 1 : 0, one = 1;
    MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (one != size) throw std::runtime_error("MPI's sum is wrong");
    MPI_Allreduce(&mine, &stop, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
}

void run(const std::string& level) {
  const auto engine = make_engine();
  std::atomic<bool> done = false;
  std::jthread other;
  if (level == "multiple") other = std::jthread([&] { call_mpi(done, engine->size()); });
  for (const std::size_t count : {1, 1000, 1'000'000})
    for (int step = 0; step < 5; ++step) {
      std::vector<float> values(count, 1.0F);
      engine->world().allreduce("values", buffer_of(values)).wait();
      check(values, engine->size());
    }
  engine->world().barrier().wait();
  done = true;
}

}  // namespace
}  // namespace ronde::comm::tests

int main(int count, char** arguments) {
  const std::map<std::string, int> levels{
      {"single", MPI_THREAD_SINGLE}, {"serialized", MPI_THREAD_SERIALIZED}, {"multiple", MPI_THREAD_MULTIPLE}};
  const std::string level = count > 1 ? arguments[1] : "";
  if (!levels.contains(level)) return 2;
  int provided = 0, rank = 0;
  MPI_Init_thread(nullptr, nullptr, levels.at(level), &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool alone = count > 2;
  if (alone && rank > 0) std::this_thread::sleep_for(std::chrono::minutes(10));
  const int code = ronde::comm::tests::run_program([&] { ronde::comm::tests::run(level); });
  if (alone) std::_Exit(code);  // MPI_Finalize would wait for the others
  if (code == 0) ronde::comm::tests::say("ok from rank " + std::to_string(rank));
  MPI_Finalize();
  return code;
}
