// One allreduce at a time: by name through the engine, by the link alone, as a plain copy, and by peers.
#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>

#include "ronde/base/error.h"
#include "ronde/base/text/units.h"
#include "ronde/bench/benchmarks.h"
#include "ronde/bench/comm/costs.h"
#include "ronde/bench/comm/turns.h"
#include "ronde/bench/detail/bars.h"
#include "ronde/bench/detail/job.h"
#include "ronde/bench/detail/peers.h"

namespace ronde::bench {
namespace {

using detail::Contestant;
using detail::Heat;
using Json = nlohmann::ordered_json;
using detail::Timing;
using Times = std::map<std::string, std::optional<Timing>>;

constexpr std::size_t kKiB = 1024, kMiB = kKiB * 1024;
constexpr auto kSizes =
    std::to_array<std::size_t>({4, 16, 64, 256, 1 * kKiB, 4 * kKiB, 16 * kKiB, 64 * kKiB, 128 * kKiB, 256 * kKiB,
                                1 * kMiB, 2 * kMiB, 4 * kMiB, 8 * kMiB, 16 * kMiB, 32 * kMiB, 64 * kMiB, 256 * kMiB});
// Up to here the link copies whatever memory it is given.
constexpr std::size_t kLeastShared = 16 * kKiB;

// A peer that fails loses its turns, and nobody else's.
Heat heat_of(std::unique_ptr<Contestant>& peer, const Log& log) {
  const auto ask = [&peer, &log](const detail::Command& command) -> std::optional<Timing> {
    if (!peer) return {};
    try {
      return peer->time(command);
    } catch (const Error& error) {
      log.warn("{} is left out from {} bytes of {} on: {}", peer->name(), command.bytes, command.dtype, error.what());
      peer.reset();
      return {};
    }
  };
  return {.name = peer->name(), .what = "allreduce", .ask = ask};
}

std::vector<Heat> heats_of(Contestant& ronde, std::span<std::unique_ptr<Contestant>> peers, bool shared,
                           const Log& log) {
  std::vector<const char*> ours{"heap", "link-heap", "copy"};
  if (shared) ours.insert(ours.end(), {"shared", "link-shared"});
  std::vector<Heat> heats;
  for (const char* what : ours)
    heats.push_back({.name = what, .what = what, .ask = [&ronde](const auto& command) { return ronde.time(command); }});
  for (auto& peer : peers)
    if (peer) heats.push_back(heat_of(peer, log));
  return heats;
}

Json json_of(const std::optional<Timing>& time) {
  return time ? Json(time->us) : Json(nullptr);
}

// How evenly single calls went: their median and ninth tenth, under keys that begin with `prefix`.
void add_spread(Json& row, const std::string& prefix, const std::optional<Timing>& time) {
  row[prefix + "p50_us"] = time && time->p50_us ? Json(*time->p50_us) : Json(nullptr);
  row[prefix + "p90_us"] = time && time->p90_us ? Json(*time->p90_us) : Json(nullptr);
}

Json make_row(int ranks, const detail::Command& command, const std::string& memory, Times& times, bool compare) {
  const auto median = times[memory];
  Json row = {{"ranks", ranks},
              {"bytes", command.bytes},
              {"dtype", command.dtype},
              {"memory", memory},
              {"median_us", json_of(median)},
              {"link_us", json_of(times["link-" + memory])},
              {"copy_us", json_of(times["copy"])}};
  add_spread(row, "", median);
  add_spread(row, "link_", times["link-" + memory]);
  if (!compare) return row;
  for (const std::string peer : detail::kPeers) {
    const auto time = times[peer];
    row[peer + "_us"] = json_of(time);
    row["ratio_" + peer] = time && median ? Json(time->us / median->us) : Json(nullptr);
  }
  return row;
}

std::vector<std::size_t> sizes_of(const Options& options) {
  for (const std::size_t bytes : options.sizes)
    if (bytes == 0 || bytes % 4 != 0 || bytes > kSizes.back() * 4)
      throw Error::bad_input("--sizes: {} bytes cannot be measured; sizes must be multiples of 4 up to {}", bytes,
                             format_bytes(kSizes.back() * 4));
  return options.sizes.empty() ? std::vector(kSizes.begin(), kSizes.end()) : options.sizes;
}

}  // namespace

namespace {

// Tensors on GPUs: through the engine, and as a plain copy within a GPU.
Report run_on_gpus(const Options& options) {
  const int ranks = detail::one_number_of_ranks(options);
  Contestant ronde(detail::our_entrant("allreduce", detail::cpus_for(ranks), options));
  ronde.wait_until_ready(detail::start_deadline());
  const auto heat = [&](const char* what) {
    return Heat{.name = what, .what = what, .ask = [&ronde](const auto& command) { return ronde.ask(command); }};
  };
  const std::vector<Heat> heats{heat("gpu"), heat("gpu-copy")};
  Report report{.name = "allreduce"};
  for (const char* dtype : {"f32", "bf16"})
    for (const std::size_t bytes : sizes_of(options)) {
      const auto medians = detail::take_turns(heats, {.what = "", .dtype = dtype, .bytes = bytes}, options.turns);
      report.rows.push_back({{"ranks", ranks},
                             {"bytes", bytes},
                             {"dtype", dtype},
                             {"memory", "gpu"},
                             {"median_us", json_of(medians[0])},
                             {"copy_us", json_of(medians[1])}});
    }
  return report;
}

}  // namespace

Report run_allreduce(const Options& options) {
  if (options.gpu) return run_on_gpus(options);
  const int ranks = detail::one_number_of_ranks(options);
  const auto sizes = sizes_of(options);
  const auto cpus = detail::cpus_for(ranks);
  Contestant ronde(detail::our_entrant("allreduce", cpus, options));
  ronde.wait_until_ready(detail::start_deadline());
  std::vector<std::unique_ptr<Contestant>> peers;
  if (options.compare) peers = detail::start_peers(detail::peer_entrants(cpus, options.python), options.log);
  Report report{.name = "allreduce"};
  for (const char* dtype : {"f32", "bf16"})
    for (const std::size_t bytes : sizes) {
      const bool shared = bytes >= kLeastShared;
      const detail::Command command{.what = "", .dtype = dtype, .bytes = bytes};
      const auto heats = heats_of(ronde, peers, shared, options.log);
      const auto medians = detail::take_turns(heats, command, options.turns);
      Times times;
      for (std::size_t i = 0; i < heats.size(); ++i) times[heats[i].name] = medians[i];
      report.rows.push_back(make_row(ranks, command, "heap", times, options.compare));
      if (shared) report.rows.push_back(make_row(ranks, command, "shared", times, options.compare));
    }
  report.sections = detail::cost_sections(report.rows, 1);
  report.bars = detail::allreduce_bars(report.rows);
  return report;
}

}  // namespace ronde::bench
