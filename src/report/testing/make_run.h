#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "ronde/trace/file/run.h"

namespace ronde::report::testing {

// A run made by hand, for tests. Times are nanoseconds.
//
//   MakeRun make(2);
//   make.span(0, "training", "forward", 0, 100);
//   make.collective(0, 100, 110, 150, 4096, 0);
//   const trace::Run run = make.take();
class MakeRun {
 public:
  explicit MakeRun(int ranks) {
    run_.source = "made";
    run_.world_size = ranks;
    for (int rank = 0; rank < ranks; ++rank)
      run_.ranks.push_back({.rank = rank, .host = "node0", .clock_shared = true});
  }

  void span(int rank, std::string_view lane, std::string_view name, std::int64_t begin, std::int64_t end,
            std::string_view category = "") {
    see(rank, {begin, end});
    lane_of(rank, lane)
        .spans.push_back({.time = {begin, end}, .name = run_.names.id(name), .category = run_.names.id(category)});
  }

  void collective(int rank, std::int64_t arrival, std::int64_t begin, std::int64_t end, std::uint64_t bytes,
                  std::uint64_t sequence, std::string_view group = "world", std::string_view name = "allreduce") {
    span(rank, "move: " + std::string(group), name, begin, end, "comm");
    run_.ranks[place(rank)].collectives.push_back({.time = {begin, end},
                                                   .first_arrival = arrival,
                                                   .arrival = arrival,
                                                   .bytes = bytes,
                                                   .wire_bytes = bytes,
                                                   .sequence = sequence,
                                                   .group = run_.names.id(group),
                                                   .name = run_.names.id(name),
                                                   .requests = 1});
  }

  // As if its process was killed then.
  void cut(int rank, std::int64_t time) {
    trace::RankTrace& trace = run_.ranks[place(rank)];
    trace.ended = false;
    trace.time.end = time;
  }

  void step(int rank, std::int64_t number, std::int64_t begin, std::int64_t end) {
    see(rank, {begin, end});
    run_.ranks[place(rank)].steps.push_back({number, {begin, end}});
  }

  void counter(int rank, std::string_view name, std::int64_t time, double value) {
    auto& all = run_.ranks[place(rank)].counters;
    const std::uint32_t id = run_.names.id(name);
    auto found = std::ranges::find(all, id, &trace::CounterSeries::name);
    if (found == all.end()) found = all.insert(all.end(), {.name = id});
    found->points.push_back({time, value});
  }

  void metadata(int rank, std::string key, std::string value) {
    run_.ranks[place(rank)].metadata[std::move(key)] = std::move(value);
  }

  void host(int rank, std::string name) { run_.ranks[place(rank)].host = std::move(name); }

  trace::Run take() {
    for (trace::RankTrace& rank : run_.ranks)
      for (trace::Lane& lane : rank.lanes) trace::nest(lane.spans);
    return std::move(run_);
  }

 private:
  static std::size_t place(int rank) { return static_cast<std::size_t>(rank); }

  void see(int rank, trace::TimeRange time) {
    trace::TimeRange& all = run_.ranks[place(rank)].time;
    if (all == trace::TimeRange{}) all = time;
    all = {std::min(all.begin, time.begin), std::max(all.end, time.end)};
  }

  trace::Lane& lane_of(int rank, std::string_view name) {
    auto& lanes = run_.ranks[place(rank)].lanes;
    const auto found = std::ranges::find(lanes, name, &trace::Lane::name);
    if (found != lanes.end()) return *found;
    lanes.push_back({.kind = trace::lane_kind(name), .name = std::string(name)});
    return lanes.back();
  }

  trace::Run run_;
};

}  // namespace ronde::report::testing
