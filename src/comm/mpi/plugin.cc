#include "ronde/comm/mpi/plugin.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

// The state of a library that can be started once a process.
namespace {

MPI_Comm ours = MPI_COMM_NULL;
MPI_Comm last = MPI_COMM_NULL;  // for the end alone: a rank may come there while others still talk
MPI_Request step = MPI_REQUEST_NULL;
std::vector<MPI_Request> pending;
std::vector<std::uint64_t> numbers_of_pending;

void copy_text(const std::string& from, char* to, int room) {
  const std::size_t length = std::min(from.size(), static_cast<std::size_t>(room) - 1);
  std::memcpy(to, from.data(), length);
  to[length] = '\0';
}

void library(char* text, int room) {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  MPI_Get_library_version(version.data(), &length);
  copy_text(version.data(), text, room);
}

int initialized() {
  int flag = 0;
  MPI_Initialized(&flag);
  return flag;
}

int finalized() {
  int flag = 0;
  MPI_Finalized(&flag);
  return flag;
}

// MPI counts its levels as it likes, but in this order.
int level_of(int provided) {
  const std::array levels{MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
  int level = 0;
  for (int i = 0; i < static_cast<int>(levels.size()); ++i)
    if (provided >= levels[static_cast<std::size_t>(i)]) level = i;
  return level;
}

int init(int* provided) {
  const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, provided);
  *provided = level_of(*provided);
  // Some report there what happens in others.
  if (code == MPI_SUCCESS) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  return code;
}

int thread_level(int* provided) {
  const int code = MPI_Query_thread(provided);
  *provided = level_of(*provided);
  return code;
}

int begin_open() {
  if (ours == MPI_COMM_NULL) return MPI_Comm_idup(MPI_COMM_WORLD, &ours, &step);
  if (last == MPI_COMM_NULL) return MPI_Comm_idup(MPI_COMM_WORLD, &last, &step);
  return MPI_SUCCESS;
}

int describe(int* rank, int* size, int* largest_tag) {
  MPI_Comm_set_errhandler(ours, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(last, MPI_ERRORS_RETURN);
  MPI_Comm_rank(ours, rank);
  MPI_Comm_size(ours, size);
  void* value = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &found);
  *largest_tag = found ? *static_cast<int*>(value) : 32767;
  return MPI_SUCCESS;
}

int finalize() {
  return MPI_Finalize();
}

void error_text(int code, char* text, int room) {
  std::array<char, MPI_MAX_ERROR_STRING> words{};
  int length = 0;
  MPI_Error_string(code, words.data(), &length);
  copy_text(words.data(), text, room);
}

int begin_sizes(const int* mine, int* sizes) {
  return MPI_Iallgather(mine, 1, MPI_INT, sizes, 1, MPI_INT, ours, &step);
}

int begin_blobs(const void* mine, int bytes, void* all, const int* sizes, const int* offsets) {
  return MPI_Iallgatherv(mine, bytes, MPI_BYTE, all, sizes, offsets, MPI_BYTE, ours, &step);
}

int begin_barrier() {
  return MPI_Ibarrier(last, &step);
}

int step_done() {
  int done = 0;
  const int code = MPI_Test(&step, &done, MPI_STATUS_IGNORE);
  return code == MPI_SUCCESS ? done : -code;
}

int keep(int code, MPI_Request request, std::uint64_t number) {
  if (code != MPI_SUCCESS) return code;
  pending.push_back(request);
  numbers_of_pending.push_back(number);
  return MPI_SUCCESS;
}

int send(const void* data, int bytes, int to, int tag, std::uint64_t number) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Isend(data, bytes, MPI_BYTE, to, tag, ours, &request);
  return keep(code, request, number);
}

int receive(void* data, int bytes, int from, int tag, std::uint64_t number) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Irecv(data, bytes, MPI_BYTE, from, tag, ours, &request);
  return keep(code, request, number);
}

int pump(std::uint64_t* numbers, int room) {
  if (pending.empty()) {  // what we take for sent may still need a push
    int there = 0;
    const int probed = MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, ours, &there, MPI_STATUS_IGNORE);
    return probed == MPI_SUCCESS ? 0 : -probed;
  }
  std::vector<int> indices(pending.size());
  int count = 0;
  const int code =
      MPI_Testsome(static_cast<int>(pending.size()), pending.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
  if (code != MPI_SUCCESS) return -code;
  if (count == MPI_UNDEFINED || count <= 0) return 0;
  // More than there is room for would be forgotten: the caller gives room for all.
  count = std::min(count, room);
  for (int i = 0; i < count; ++i)
    numbers[i] = numbers_of_pending[static_cast<std::size_t>(indices[static_cast<std::size_t>(i)])];
  std::size_t kept = 0;
  for (std::size_t i = 0; i < pending.size(); ++i) {
    if (pending[i] == MPI_REQUEST_NULL) continue;
    pending[kept] = pending[i];
    numbers_of_pending[kept++] = numbers_of_pending[i];
  }
  pending.resize(kept);
  numbers_of_pending.resize(kept);
  return count;
}

int allreduce_floats(float* values, int count) {
  return MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_FLOAT, MPI_SUM, ours);
}

constexpr RondeMpi kTable{
    .version = RondeMpi::kVersion,
    .library = library,
    .initialized = initialized,
    .finalized = finalized,
    .init = init,
    .thread_level = thread_level,
    .begin_open = begin_open,
    .describe = describe,
    .finalize = finalize,
    .error_text = error_text,
    .begin_sizes = begin_sizes,
    .begin_blobs = begin_blobs,
    .begin_barrier = begin_barrier,
    .step_done = step_done,
    .send = send,
    .receive = receive,
    .pump = pump,
    .allreduce_floats = allreduce_floats,
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const RondeMpi* ronde_mpi() {
  return &kTable;
}
