#include "ronde/report/testing/generate.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/report/testing/generated_rank.h"

namespace ronde::report::testing {
namespace {

using Row = GeneratedRank::Row;

constexpr std::int64_t kBegan = 1'767'225'600'000'000'000;  // 2026-01-01, so that the same run is the same bytes
constexpr std::int64_t kStart = 50'000'000;                 // of the first step
constexpr std::int64_t kGap = 10'000;                       // between what follows one another on a thread
constexpr std::int64_t kClockEvery = 1'000'000'000;
constexpr int kSamples = 32;

// What disturbs a rank: the same number for the same seed, step and rank, from -1 to 1.
enum class Disturbance : std::uint64_t { Jitter, Preemption };
double noise(const Faults& faults, Disturbance what, std::int64_t step, int rank) {
  std::uint64_t x = (static_cast<std::uint64_t>(step) << 20) + static_cast<std::uint64_t>(rank) + 0x9e3779b97f4a7c15u;
  x += faults.seed * 0xd1342543de82ef95u + static_cast<std::uint64_t>(what) * 0xa0761d6478bd642fu;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-52 - 1.0;
}

struct Exchange {  // of a bucket, for all ranks
  std::int64_t agreed = 0, begin = 0, end = 0;
};

class Generator {
 public:
  explicit Generator(const GenerateOptions& options) : options_(options), ready_at_(place(options.ranks), kStart) {
    for (int rank = 0; rank < options.ranks; ++rank) {
      const int host = rank / std::max(1, options.ranks_per_host);
      const GeneratedRank::Clock clock{
          .began_ns = kBegan, .offset = host * options.clock_offset, .drift = host > 0 ? options.clock_drift : 0.0};
      files_.push_back(std::make_unique<GeneratedRank>(
          options.folder,
          GeneratedRank::Identity{.rank = rank, .world_size = options.ranks, .host = fmt::format("node{}", host)},
          clock));
      for (const auto& [key, value] : options.metadata) files_.back()->metadata(key, value, 0);
      if (options.shape.kernels > 0) files_.back()->add_device();
    }
    for (int layer = 0; layer < options.shape.layers; ++layer) {
      modules_.push_back(fmt::format("layer{}.{}.conv", 1 + layer / 13, layer % 13));
      operators_.push_back(layer % 4 == 3 ? "batch_norm" : "convolution");
    }
  }

  Generated run() {
    for (std::int64_t step = 0; step < options_.steps; ++step) one_step(step);
    Generated made{.begin = kBegan + kStart};
    for (const auto& file : files_) {
      file->measure_clock(*std::ranges::max_element(ready_at_));
      file->metadata("dropped_events", "0", *std::ranges::max_element(ready_at_));
      file->finish();
      made.bytes += std::filesystem::file_size(file->file());
    }
    made.duration = *std::ranges::max_element(ready_at_) - kStart;
    return made;
  }

 private:
  struct Phases {  // of a rank in a step
    std::int64_t begin, input, forward, backward;
    double slow;
  };
  static std::size_t place(int rank) { return static_cast<std::size_t>(rank); }

  void one_step(std::int64_t step) {
    measure_clocks();
    std::vector<Phases> phases;
    for (int rank = 0; rank < options_.ranks; ++rank) phases.push_back(phases_of(step, rank));
    const std::vector<Exchange> exchanges = exchange(phases);
    for (int rank = 0; rank < options_.ranks; ++rank) {
      GeneratedRank& file = *files_[place(rank)];
      const Phases& mine = phases[place(rank)];
      file.begin(Row::Steps, "step", mine.begin, {}, {{"step", step}});
      write_input(file, mine);
      write_compute(file, mine);
      write_device(file, mine);
      write_exchanges(file, mine, exchanges, step);
      ready_at_[place(rank)] = write_rest(file, mine, exchanges.empty() ? 0 : exchanges.back().end, step, rank);
      file.end(Row::Steps, ready_at_[place(rank)]);
    }
  }

  void measure_clocks() {
    const std::int64_t now = ready_at_.front();
    if (now < next_clock_) return;
    for (const auto& file : files_) file->measure_clock(now);
    next_clock_ = now + kClockEvery;
  }

  Phases phases_of(std::int64_t step, int rank) const {
    const StepShape& shape = options_.shape;
    const Faults& faults = options_.faults;
    const double jitter = faults.jitter * noise(faults, Disturbance::Jitter, step, rank);
    const double slow = (rank == faults.slow_rank ? faults.slowness : 1.0) * (1 + jitter);
    const bool preempted = noise(faults, Disturbance::Preemption, step, rank) < 2 * faults.preempted - 1;
    Phases made{.begin = ready_at_[place(rank)], .input = 0, .forward = 0, .backward = 0, .slow = slow};
    made.input = made.begin + shape.input + faults.input;
    made.forward = made.input + kGap + longer(shape.forward, slow) + (preempted ? faults.preemption : 0);
    made.backward = made.forward + kGap + longer(shape.backward, slow);
    return made;
  }

  static std::int64_t longer(std::int64_t time, double by) { return std::llround(static_cast<double>(time) * by); }

  // When this rank hands over the gradients of a bucket.
  std::int64_t arrival(const Phases& phases, int bucket) const {
    const double least = options_.faults.first_bucket;
    const double share = least + (1 - least) * (bucket + 1) / options_.shape.buckets;
    const std::int64_t begin = phases.forward + kGap;
    return begin + longer(phases.backward - begin, share);
  }

  std::vector<Exchange> exchange(const std::vector<Phases>& phases) const {
    std::vector<Exchange> all;
    std::int64_t free_at = 0;
    for (int bucket = 0; bucket < options_.shape.buckets; ++bucket) {
      std::int64_t last = 0;
      for (const Phases& rank : phases) last = std::max(last, arrival(rank, bucket));
      const std::int64_t agreed = last + options_.shape.agree, begin = std::max(agreed, free_at);
      all.push_back({agreed, begin, begin + options_.shape.move + options_.faults.link});
      free_at = all.back().end;
    }
    return all;
  }

  void write_input(GeneratedRank& file, const Phases& phases) const {
    file.span(Row::Training, "wait for input", phases.begin, phases.input, "input");
    file.counter("decode ready", phases.begin, options_.faults.input > 0 ? 0 : 4);
    // Input that is late is so because its stage has no pause.
    const std::int64_t decoded =
        options_.faults.input > 0 ? phases.backward : phases.input + (phases.forward - phases.input) / 2;
    file.span(Row::Decode, "decode", phases.begin, decoded, "input", {{"samples", std::int64_t{kSamples}}});
    if (options_.faults.input == 0) file.span(Row::Decode, "wait for room", decoded, phases.backward, "input");
  }

  void write_compute(GeneratedRank& file, const Phases& phases) const {
    const auto pass = [&](const char* name, std::int64_t from, std::int64_t to, bool backwards) {
      file.begin(Row::Training, name, from);
      const auto count = static_cast<std::int64_t>(modules_.size());
      for (std::int64_t i = 0; i < count; ++i) {
        const auto layer = static_cast<std::size_t>(backwards ? count - 1 - i : i);
        const std::int64_t begin = from + (to - from) * i / count, end = from + (to - from) * (i + 1) / count;
        file.begin(Row::Training, modules_[layer], begin, "module");
        file.span(Row::Training, operators_[layer], begin + (end - begin) / 20, end - (end - begin) / 20, "operator");
        file.end(Row::Training, end);
      }
      file.end(Row::Training, to);
    };
    pass("forward", phases.input + kGap, phases.forward, false);
    pass("backward", phases.forward + kGap, phases.backward, true);
  }

  void write_device(GeneratedRank& file, const Phases& phases) const {
    const StepShape& shape = options_.shape;
    if (shape.kernels == 0) return;
    const std::int64_t begin = phases.input + kGap, end = begin + shape.kernels;
    file.span(Row::Device, "gemm", begin, end, "kernel");
    if (shape.device_waits > 0) file.span(Row::Device, "nccl allreduce", end, end + shape.device_waits, "collective");
  }

  void write_exchanges(GeneratedRank& file, const Phases& phases, const std::vector<Exchange>& exchanges,
                       std::int64_t step) const {
    const StepShape& shape = options_.shape;
    const auto us = [](std::int64_t ns) { return static_cast<double>(ns) / 1e3; };
    std::int64_t agreed = 0;
    for (int bucket = 0; bucket < shape.buckets; ++bucket) {
      const Exchange& at = exchanges[place(bucket)];
      const std::int64_t arrived = arrival(phases, bucket);
      const std::int64_t round = std::max(arrived, agreed);
      const std::int64_t first = bucket == 0 ? phases.forward + kGap : std::max(agreed, arrival(phases, bucket - 1));
      if (first < round) file.span(Row::Agree, "wait for ready", first, round, "comm");
      agreed = std::max(at.agreed, round);
      file.span(Row::Agree, step == 0 ? "negotiate" : "vote", round, agreed, "comm");
      const std::int64_t waiting = std::min(shape.peers, at.end - at.begin - 1);
      if (waiting > 0) file.span(Row::Move, "wait for peers", at.begin + 1, at.begin + 1 + waiting, "comm");
      const auto bytes = static_cast<std::int64_t>(shape.bucket_bytes);
      file.span(Row::Move, "allreduce", at.begin, at.end, "comm",
                {{"bytes", bytes},
                 {"wire_bytes", bytes},
                 {"requests", std::int64_t{8}},
                 {"waiting_us", us(waiting)},
                 {"moving_us", us(at.end - at.begin - waiting)},
                 {"sequence", step * shape.buckets + bucket},
                 {"arrived_us", us(at.begin - arrived)},
                 {"first_arrived_us", us(at.begin - first)}});
    }
  }

  // After backward. Tells when the rank is ready for the next step.
  std::int64_t write_rest(GeneratedRank& file, const Phases& phases, std::int64_t exchanged, std::int64_t step,
                          int rank) const {
    std::int64_t at = phases.backward + kGap;
    const std::int64_t synchronized = std::max(at, exchanged) + kGap;
    file.begin(Row::Training, "synchronize", at);
    if (exchanged > at) file.span(Row::Training, "wait for communication", at, exchanged, "wait");
    file.end(Row::Training, synchronized);
    at = synchronized + longer(options_.shape.optimizer, phases.slow);
    file.span(Row::Training, "optimizer", synchronized, at);
    file.counter("memory in use", at, 1.5e9 + 1e6 * static_cast<double>(step % 7));
    const int every = options_.faults.evaluate_every;
    if (every > 0 && rank == 0 && (step + 1) % every == 0) {
      file.span(Row::Training, "evaluate", at + kGap, at + kGap + options_.faults.evaluate);
      at += kGap + options_.faults.evaluate;
    }
    return at + kGap;
  }

  const GenerateOptions& options_;
  std::vector<std::unique_ptr<GeneratedRank>> files_;
  std::vector<std::string> modules_, operators_;
  std::vector<std::int64_t> ready_at_;  // when each rank begins its next step
  std::int64_t next_clock_ = 0;
};

}  // namespace

Generated generate(const GenerateOptions& options) {
  const StepShape& shape = options.shape;
  if (options.ranks < 1 || options.steps < 1)
    throw Error::bad_input("a run needs at least one rank and one step, got {} and {}", options.ranks, options.steps);
  const std::int64_t least =
      std::min({shape.input, shape.forward, shape.backward, shape.optimizer, shape.agree, shape.move, shape.peers,
                shape.kernels, shape.device_waits, options.faults.input, options.faults.link});
  if (least < 0 || shape.layers < 0 || shape.buckets < 0)
    throw Error::bad_input("the times of a step and the numbers of layers and buckets must not be negative");
  return Generator(options).run();
}

}  // namespace ronde::report::testing
