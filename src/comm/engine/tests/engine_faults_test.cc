#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/system/clock.h"
#include "ronde/comm/testing/failing_link.h"
#include "ronde/comm/testing/failures.h"
#include "ronde/comm/testing/ranks.h"

// Whatever call of a link fails: requests fail with the cause, and nothing ends the process or waits for ever.
namespace ronde::comm {
namespace {

using tests::FailingLink;
using tests::FailingTransport;
using tests::Injection;

struct Fault {
  const char* call;
  int number;
  tests::Place place;
};
void PrintTo(const Fault& fault, std::ostream* out) {
  *out << fault.call << fault.number << "On" << tests::name_of(fault.place);
}
std::string fault_name(const testing::TestParamInfo<Fault>& info) {
  std::string name = std::string(info.param.call) + std::to_string(info.param.number) + "On";
  std::erase(name, '_');
  return name + tests::name_of(info.param.place);
}

// All that a link is asked for: small and large data, each operation, requests that differ, stalls.
void work(Engine& engine, int step) {
  const Group world = engine.world();
  const auto size = static_cast<std::size_t>(world.size());
  std::vector<float> small(10, 1.0f), large(size * 100'000, 1.0f), rows(size, 1.0f);
  std::vector<Handle> handles;
  handles.push_back(world.allreduce("small", buffer_of(small)));
  handles.push_back(world.allreduce("large", buffer_of(large)));
  handles.push_back(world.allgather("rows", buffer_of(rows)));
  for (const Handle& handle : handles) handle.wait();
  world.reduce_scatter("scatter", buffer_of(large)).wait();
  world.reduce("reduce", buffer_of(small), 0).wait();
  world.broadcast("broadcast", buffer_of(large), 0).wait();
  std::vector<float> copy(large.size());
  world
      .submit({.operation = Operation::Broadcast,
               .name = "copied",
               .input = buffer_of(large),
               .output = buffer_of(copy),
               .root = 1})
      .wait();
  world.alltoall("alltoall", buffer_of(rows)).wait();
  world.barrier().wait();
  if (step % 3 == 1) {  // a name of which some ask for more
    std::vector<float> other(engine.rank() == 0 ? 3 : 4, 1.0f);
    try {
      world.allreduce("differs", buffer_of(other)).wait();
    } catch (const Error& error) {
      if (error.kind() != Error::Kind::Mismatch) throw;
    }
  }
  for (int i = 0; step == 0 && i < 20; ++i) {  // becomes a plan, and then rank 0 comes late
    if (i == 19 && engine.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(500));
    world.allreduce("again", buffer_of(small)).wait();
  }
  engine.drop_group(engine.make_group({0, 1}));
}

// What came of a rank's work; then it leaves.
void expect_cause(Engine& engine, const std::optional<Error>& error, const Injection& injection, const char* call) {
  ASSERT_TRUE(error.has_value()) << "nothing has failed on rank " << engine.rank();
  EXPECT_TRUE(injection.has_failed());
  const std::string text = error->what();
  if (engine.rank() == 1)
    EXPECT_NE(text.find("injected into " + std::string(call)), std::string::npos) << text;
  else
    EXPECT_NE(text.find("rank 1"), std::string::npos) << text;
  engine.shutdown(engine.rank() == 1 ? text : "");
}

class EngineFaults : public testing::TestWithParam<Fault> {};

TEST_P(EngineFaults, FailWhatIsOnItsWayWithTheCause) {
  const Fault& fault = GetParam();
  Injection injection(fault.call, fault.number);
  detail::HookedJob job(fault.place.ranks, fault.place.nodes);
  job.set_hooks(
      1, {.wrap_link = [&](auto link) { return std::make_unique<FailingLink>(std::move(link), injection); },
          .wrap_mesh = [&](detail::Transport& mesh) { return std::make_shared<FailingTransport>(mesh, injection); }});
  EngineOptions options;
  options.stall_warn = std::chrono::milliseconds(100);
  options.log = Log({.level = LogLevel::Error});
  tests::run_job(
      job,
      [&](std::unique_ptr<Engine>& engine) {
        std::optional<Error> error;
        try {
          for (int step = 0; step < 30; ++step) work(*engine, step);
        } catch (const Error& thrown) {
          error = thrown;
        }
        expect_cause(*engine, error, injection, fault.call);
      },
      options);
}

std::vector<Fault> all_faults() {
  std::vector<Fault> faults;
  const tests::Place one{2, 1}, several{4, 2};
  for (const tests::Place& place : {one, several})
    for (const int number : {1, 7})
      for (const char* call :
           {"begun", "combine", "spread", "tell", "finish_round", "finish_bucket", "use_algorithm", "allreduce",
            "reduce", "reduce_scatter", "broadcast", "allgather", "alltoall", "barrier", "share"})
        faults.push_back({call, number, place});
  for (const int number : {1, 7})
    for (const char* call : {"send", "receive", "pump"}) faults.push_back({call, number, several});
  for (const tests::Place& place : {one, several})
    for (const char* call : {"wake", "copy_here"}) faults.push_back({call, 1, place});
  faults.push_back({"refused", 1, one});
  faults.push_back({"silent", 1, one});
  faults.push_back({"ask_silent", 1, several});
  faults.push_back({"heard", 1, several});
  return faults;
}

INSTANTIATE_TEST_SUITE_P(All, EngineFaults, testing::ValuesIn(all_faults()), fault_name);

// Calls that are made when a rank leaves which the others do not need any more.
class EngineFaultsInLeaving : public EngineFaults {};

TEST_P(EngineFaultsInLeaving, FailWhatIsOnItsWayWithTheCause) {
  const Fault& fault = GetParam();
  Injection injection(fault.call, fault.number);
  detail::HookedJob job(fault.place.ranks, fault.place.nodes);
  job.set_hooks(1, {.wrap_link = [&](auto link) { return std::make_unique<FailingLink>(std::move(link), injection); }});
  tests::run_job(job,
                 [&](std::unique_ptr<Engine>& engine) {
                   std::vector<float> values(10, 1.0f);
                   const Group stays = engine->make_group({0, 1});
                   // Who is quick may leave while the others still wait for this.
                   std::optional<Error> error = tests::failure_of(engine->world(), values);
                   if (stays.rank() < 0) return;
                   for (const Deadline until = Deadline::after(tests::kTestTimeout); !error && !until.passed();)
                     error = tests::failure_of(stays, values);
                   expect_cause(*engine, error, injection, fault.call);
                 },
                 {.log = Log({.level = LogLevel::Error})});
}

INSTANTIATE_TEST_SUITE_P(All, EngineFaultsInLeaving,
                         testing::Values(Fault{"rounds_of", 1, {3, 1}}, Fault{"rounds_of", 1, {3, 3}},
                                         Fault{"buckets_of", 1, {3, 1}}, Fault{"buckets_of", 1, {3, 3}},
                                         Fault{"left", 1, {3, 3}}),
                         fault_name);

}  // namespace
}  // namespace ronde::comm
