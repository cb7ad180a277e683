// Writes one trace a mode, for tests that read the file with Perfetto's own schema: trace_example MODE FOLDER [RANK or
// FILTER]

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "ronde/trace/span.h"

namespace {

using namespace ronde::trace;
using std::chrono::milliseconds;

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}
void work(int ms) {
  std::this_thread::sleep_for(milliseconds(ms));
}

void loader(Recorder& recorder) {
  const Scope scope(recorder, "loader");
  RONDE_SPAN("load", "input");
  counter("queue", 3);
  work(2);
  counter("queue", -1);
}

// A bit of everything.
void plain(const std::string& folder, int rank, const std::string& filter = {}) {
  Recorder recorder({.folder = folder, .rank = rank, .world_size = 2, .host = "node7", .filter = filter});
  recorder.set_metadata("flops", R"({"conv1": 118013952})");
  recorder.set_clock_offset(now_ns(), -1500);
  const Scope scope(recorder, "training");
  const Track stream = recorder.track("gpu 0 stream 7");
  for (int step = 0; step < 3; ++step) {
    recorder.step(step);
    Span forward("forward", "compute", {{"step", step}});
    {
      RONDE_SPAN("layer");
      work(5);
    }
    forward.end({{"loss", 0.25}});
    const Name tensor = recorder.intern("grad." + std::to_string(step));
    RONDE_SPAN(tensor, "comm", {{"bytes", std::int64_t{1} << 40}, {"phase", "vote"}, Arg::flow(77)});
    counter("loss", 0.5 * step);
    instant("checkpoint", "io", {{"delta", -3}});
    std::jthread(loader, std::ref(recorder)).join();
  }
  recorder.end_step();
  const std::int64_t begin = now_ns();
  recorder.span(stream, {.name = "kernel", .category = "gpu", .begin_ns = begin, .end_ns = begin + 12'345},
                {{"grid", 8}});
  std::jthread([&] {  // no Scope here
    recorder.span(stream, {.name = "copy", .begin_ns = begin + 20'000, .end_ns = begin + 21'000});
    recorder.counter("watts", 250.5, begin);
  })
      .join();
  recorder.set_clock_offset(now_ns(), -1400);
}

void window(const std::string& folder) {
  Recorder recorder({.folder = folder, .steps = ronde::parse_step_window("3..5")});
  const Scope scope(recorder, "training");
  for (int step = 0; step < 10; ++step) {
    recorder.step(step);
    RONDE_SPAN("forward", {}, {{"step", step}});
  }
}

// Far more than the memory holds, faster than it can be written.
void flood(const std::string& folder) {
  Recorder recorder({.folder = folder, .bytes = 64 << 10});
  const Scope scope(recorder, "flood");
  RONDE_SPAN("outer");
  for (int i = 0; i < 200'000; ++i) RONDE_SPAN("inner", {}, {{"i", i}});
}

// Never ends: somebody kills it. Says on stdout how many spans have been recorded.
void endless(const std::string& folder) {
  Recorder recorder({.folder = folder});
  const Scope scope(recorder, "endless");
  RONDE_SPAN("all of it");
  for (int i = 0;; ++i) {
    {
      RONDE_SPAN("tick", {}, {{"i", i}});
      work(1);
    }
    std::printf("%d\n", i);
    std::fflush(stdout);
  }
}

// The disk is full from the first byte on.
void full() {
  Recorder recorder({.file = "/dev/full"});
  const Scope scope(recorder, "training");
  for (int i = 0; i < 1000 && !recorder.error(); ++i) {
    RONDE_SPAN("forward");
    work(1);
  }
  { RONDE_SPAN("still alive"); }
  std::printf("%s\n%s\n", recorder.error() ? recorder.error()->what() : "no error",
              recorder.recording() ? "recording" : "stopped");
}

}  // namespace

int main(int count, char** words) {
  const std::string_view mode = count > 1 ? words[1] : "";
  const std::string folder = count > 2 ? words[2] : ".";
  if (mode == "plain")
    plain(folder, count > 3 ? std::atoi(words[3]) : 0);
  else if (mode == "filter")
    plain(folder, 0, count > 3 ? words[3] : "");
  else if (mode == "window")
    window(folder);
  else if (mode == "flood")
    flood(folder);
  else if (mode == "endless")
    endless(folder);
  else if (mode == "full")
    full();
  else
    return 2;
}
