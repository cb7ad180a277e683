#include <chrono>
#include <cstdint>
#include <iostream>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "ronde/base/settings/environment.h"
#include "ronde/base/system/clock.h"
#include "ronde/base/text/text.h"
#include "ronde/comm/testing/fuzz.h"
#include "ronde/comm/testing/ranks.h"

// Random requests in random orders. A failure prints the seed, and all follows from that.
namespace ronde::comm {
namespace {

struct Episode {
  std::uint64_t seed;
  int ranks;
  int steps;
  bool ends_apart;  // ranks leave within 20 ms, and not at once
  EngineOptions options;
  detail::EngineHooks hooks;
};

// Everything about an episode follows from its seed.
Episode make_episode(std::uint64_t seed) {
  tests::Random random({seed, 99});
  Episode episode{.seed = seed,
                  .ranks = 2 + random.below(4),
                  .steps = 20 + random.below(100),
                  .ends_apart = false,
                  .options = {},
                  .hooks = {}};
  if (random.once_in(10)) episode.ranks = 8;
  if (random.once_in(2)) episode.options.pretend_nodes = 1 + random.below(4);
  if (random.once_in(3)) episode.options.fusion_bytes = 1000, episode.options.first_bucket_bytes = 100;
  if (random.once_in(5)) episode.options.deterministic = true;
  if (random.once_in(5)) {
    episode.hooks.link_delay = std::chrono::microseconds(200);
    episode.steps = 15;
  }
  episode.ends_apart = random.once_in(2);
  episode.options.stall_abort = std::chrono::seconds(60);  // who would wait for ever says for what
  return episode;
}

// Returns the number of results that were compared.
std::uint64_t run_episode(const Episode& episode) {
  const tests::Watchdog watchdog(std::chrono::minutes(3), fmt::format("seed {}", episode.seed));
  std::mutex mutex;
  std::uint64_t checks = 0;
  const auto body = [&](Engine& engine) {
    tests::Fuzzer fuzzer(engine, episode.seed);
    for (int step = 0; step < episode.steps; ++step) fuzzer.step();
    fuzzer.finish();
    if (episode.ends_apart) {
      tests::Random random({episode.seed, 98, static_cast<std::uint64_t>(engine.rank())});
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(20'000)));
    }
    tests::expect_none(fuzzer.problems());
    const std::scoped_lock lock(mutex);
    checks += fuzzer.checks();
  };
  try {
    run_ranks(episode.ranks, body, episode.options, episode.hooks);
  } catch (const std::exception& error) {
    ADD_FAILURE() << "seed " << episode.seed << ": " << error.what();
  }
  return checks;
}

// A minute, unless the environment asks for more. Several of these at once begin with seeds of their own.
TEST(EngineFuzz, AMinuteOfRandomRequests) {
  const Environment environment = Environment::of_process();
  const auto number = [&](const char* variable, std::uint64_t otherwise) {
    const auto text = environment.get(variable);
    return text ? parse_number<std::uint64_t>(*text).value() : otherwise;
  };
  const std::chrono::seconds limit(number("RONDE__TEST_FUZZ_SECONDS", tests::kSanitized ? 10 : 60));
  const std::uint64_t first = number("RONDE__TEST_FUZZ_SEED", 1);
  const auto begin = monotonic_now();
  std::uint64_t checks = 0, seed = first;
  for (; monotonic_now() - begin < limit && !HasFailure(); ++seed) checks += run_episode(make_episode(seed));
  EXPECT_GT(checks, 1000u);
  std::cout << checks << " results of " << seed - first << " episodes compared\n";
}

// The first seeds one by one, which says more than the minute when all is broken.
class EngineFuzzSeed : public testing::TestWithParam<int> {};

TEST_P(EngineFuzzSeed, Works) {
  EXPECT_GT(run_episode(make_episode(static_cast<std::uint64_t>(GetParam()))), 0u);
}

INSTANTIATE_TEST_SUITE_P(EngineFuzz, EngineFuzzSeed, testing::Range(1, 5));

}  // namespace
}  // namespace ronde::comm
