// MPI's allreduce, as a contestant of `ronde bench allreduce --compare`. Alone in its program: nothing else links MPI.
//
//   mpirun -n 2 ronde-peer-mpi 0,1       a cpu for each rank
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "ronde/bench/detail/command.h"

namespace {

using ronde::bench::detail::Command;
using ronde::bench::detail::Timing;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Free>;

// Ranks that wait inside MPI spin, on cores that the other contestants need. So all but the first sleep until they get
// a signal, and enter MPI only then.
class Doorbell {
 public:
  // Before MPI starts threads, so that they inherit it.
  Doorbell() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals_, nullptr);
  }
  void meet(int rank, int size) {
    std::vector<int> processes(static_cast<std::size_t>(size));
    const int mine = getpid();
    MPI_Allgather(&mine, 1, MPI_INT, processes.data(), 1, MPI_INT, MPI_COMM_WORLD);
    if (rank == 0) others_.assign(processes.begin() + 1, processes.end());
  }
  void ring() const {
    for (const int process : others_) kill(process, SIGUSR1);
  }
  void sleep() const {
    int signal = 0;
    sigwait(&signals_, &signal);
  }

 private:
  sigset_t signals_{};
  std::vector<int> others_;
};

void bind_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

int cpu_of_rank(const char* list, int rank) {
  for (; rank > 0 && list; --rank)
    if ((list = std::strchr(list, ','))) ++list;
  return list ? std::atoi(list) : 0;
}

// The command that the first rank reads, on all ranks; an empty one is the end.
std::string next_line(const Doorbell& doorbell, int rank) {
  std::array<char, 128> line{};
  if (rank == 0) {
    std::string text;
    if (std::getline(std::cin, text)) text.copy(line.data(), line.size() - 1);
    doorbell.ring();
  } else {
    doorbell.sleep();
  }
  MPI_Bcast(line.data(), static_cast<int>(line.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  return line.data();
}

Timing time_allreduce(const Command& command, void* memory) {
  std::memset(memory, 0, command.bytes);
  const int count = static_cast<int>(command.bytes / sizeof(float));
  return time_each_round(command,
                         [&] { MPI_Allreduce(MPI_IN_PLACE, memory, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); });
}

}  // namespace

int main(int count, char** arguments) {
  Doorbell doorbell;
  MPI_Init(&count, &arguments);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (count > 1) bind_to(cpu_of_rank(arguments[1], rank));
  doorbell.meet(rank, size);
  if (rank == 0) std::cout << "ready" << std::endl;
  Memory memory;
  std::size_t bytes = 0;
  for (;;) {
    const auto command = ronde::bench::detail::read_command(next_line(doorbell, rank));
    if (!command) break;
    const bool able = command->dtype == "f32";  // MPI knows no bf16
    if (able && command->bytes > bytes) memory.reset(std::malloc(bytes = command->bytes));
    const Timing time = able ? time_allreduce(*command, memory.get()) : Timing(0.0);
    if (rank == 0) std::cout << (able ? write_timing(time) : "-") << std::endl;
  }
  MPI_Finalize();
  return 0;
}
