#include "ronde/launch/stage/carry.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <iterator>
#include <thread>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::launch::detail {
namespace {

using namespace std::chrono_literals;

std::string take(Pipe& pipe) {
  pipe.write.close();
  std::string text(1 << 16, ' ');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(pipe.read.get(), text.data(), text.size()))));
  return text;
}

std::string wait_for_stop(Progress& progress, const Signals&) {
  while (!progress.stop) std::this_thread::sleep_for(1ms);
  return "stopped";
}

TEST(Carry, SaysWhatEachHasDone) {
  Pipe err = Pipe::make();
  const Carrier one = [](Progress&, const Signals&) { return std::string("one is here"); };
  const Carrier two = [](Progress&, const Signals&) { return std::string("two is here"); };
  EXPECT_EQ(carry({one, two}, "staging", {.descriptor = err.write.get()}), 0);
  EXPECT_EQ(take(err), "one is here\ntwo is here\n");
  EXPECT_EQ(carry({}, "staging", {}), 0);
}

TEST(Carry, TheFirstFailureStopsTheOthersAndIsThrown) {
  Pipe err = Pipe::make();
  const Carrier fails = [](Progress&, const Signals&) -> std::string { throw Error::bad_input("no room for x"); };
  try {
    carry({wait_for_stop, fails}, "staging", {.descriptor = err.write.get()});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no room for x");
  }
  EXPECT_EQ(take(err), "");
}

TEST(Carry, ASignalStopsIt) {
  Pipe err = Pipe::make();
  const Carrier carrier = [](Progress& progress, const Signals& signals) {
    kill(getppid(), SIGTERM);  // what the user sees; it passes it on
    return wait_for_stop(progress, signals);
  };
  EXPECT_EQ(carry({carrier}, "staging", {.descriptor = err.write.get()}), 128 + SIGTERM);
  EXPECT_EQ(take(err), "stopped\nstaging stopped by signal 15 (terminated)\n");
}

TEST(Carry, TellsHowFarItIs) {
  EXPECT_EQ(describe_progress("staging", 512 << 20, 2048ull << 20, 2), "staging: 25 %, 512 MiB of 2 GiB, 256 MiB/s");
  EXPECT_EQ(describe_progress("staging", 0, 0, 2), "staging: 0 B");
}

}  // namespace
}  // namespace ronde::launch::detail
