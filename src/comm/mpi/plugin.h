#pragma once

#include <cstddef>
#include <cstdint>

// What Ronde asks of an MPI library. Their binary interfaces differ, so plugin.cc is built once for each of them, and
// the one that fits is loaded when a job runs. Plain C: nothing of Ronde is linked into it. One thread at a time.
extern "C" {

struct RondeMpi {
  static constexpr int kVersion = 2;
  static constexpr int kSerialized = 2;  // the third of MPI's four thread levels

  int version;

  // Allowed at any time.
  void (*library)(char* text, int room);  // "Open MPI v4.1.4, package: ..."
  int (*initialized)();
  int (*finalized)();

  // These return 0, or a code that error_text() explains.
  int (*init)(int* provided);          // asks for kSerialized
  int (*thread_level)(int* provided);  // of an MPI that runs already
  // Our own communicators, over all ranks. They are made one by one: begin_open(), then step_done() until it is done,
  // kCommunicators times. Then what they are.
  static constexpr int kCommunicators = 2;
  int (*begin_open)();
  int (*describe)(int* rank, int* size, int* largest_tag);
  int (*finalize)();
  void (*error_text)(int code, char* text, int room);

  // Everyone gives `mine`; `sizes` and `all` get everyone's, one after the other. Two steps, each begun once and then
  // asked about until it is done: 1 done, 0 not yet, below 0 a failure (-code).
  int (*begin_sizes)(const int* mine, int* sizes);
  int (*begin_blobs)(const void* mine, int bytes, void* all, const int* sizes, const int* offsets);
  int (*begin_barrier)();
  int (*step_done)();

  // Messages. The number comes back from pump() when the memory may be used again.
  int (*send)(const void* data, int bytes, int to, int tag, std::uint64_t number);
  int (*receive)(void* data, int bytes, int from, int tag, std::uint64_t number);
  // How many are done, at most `room`; below 0: -code.
  int (*pump)(std::uint64_t* numbers, int room);

  // MPI's own allreduce, which waits; for benchmarks. Adds in place.
  int (*allreduce_floats)(float* values, int count);
};

const RondeMpi* ronde_mpi();
}
