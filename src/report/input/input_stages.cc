// What a trace tells of the steps of the input pipeline.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <nlohmann/json.hpp>

#include "ronde/base/text/format.h"
#include "ronde/report/input/input_limit.h"
#include "ronde/report/run/numbers.h"
#include "ronde/report/steps/overlap.h"
#include "ronde/trace/fact_names.h"

namespace ronde::report {
namespace {

using trace::CounterSeries;
using trace::Lane;
using trace::RankTrace;
using Json = nlohmann::json;

constexpr std::string_view kRow = "input ", kReady = " ready";

// A sensible amount, or nothing: files may hold anything.
std::optional<double> amount(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) return 0.0;
  if (!found->is_number()) return {};
  const double value = found->get<double>();
  return std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
}

// A stage of one rank.
struct Told {
  std::string name = {};
  double busy = 0, input = 0, room = 0, items = 0, threads = 0, bytes = 0;
};

class Stages {
 public:
  InputStage& operator[](const std::string& name) {
    const auto found = std::ranges::find(all_, name, &InputStage::name);
    return found != all_.end() ? *found : all_.emplace_back(InputStage{.name = name});
  }

  void add(const Told& told) {
    constexpr double kMostThreads = 1e6;
    const double threads = std::clamp(told.threads, 1.0, kMostThreads);
    InputStage& stage = (*this)[told.name];
    stage.busy += told.busy;
    stage.waiting_input += told.input;
    stage.waiting_room += told.room;
    if (told.busy > 0) stage.items_per_second += told.items * threads / told.busy;
    if (told.items > 0) stage.item_bytes = std::max(stage.item_bytes, told.bytes / told.items);
    stage.threads = std::max(stage.threads, static_cast<int>(threads));
  }

  std::vector<InputStage> take() { return std::move(all_); }

 private:
  std::vector<InputStage> all_;  // few
};

// None: no such list. What is no stage in it (how many samples were skipped) is passed over.
std::optional<std::vector<Told>> parse_stages(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  const Json& list = json.is_object() && json.contains("stages") ? json["stages"] : json;
  if (!list.is_array()) return {};
  std::vector<Told> stages;
  for (const Json& entry : list) {
    if (!entry.is_object()) return {};
    if (!entry.contains("name")) continue;
    const auto busy = amount(entry, "busy_s"), input = amount(entry, "waiting_input_s"),
               room = amount(entry, "waiting_room_s"), items = amount(entry, "items"),
               threads = amount(entry, "threads"), bytes = amount(entry, "bytes");
    if (!entry["name"].is_string() || !busy || !input || !room || !items || !threads || !bytes) return {};
    stages.push_back({entry["name"], *busy, *input, *room, *items, *threads, *bytes});
  }
  return stages;
}

bool add_told(const RankTrace& rank, Stages& stages, std::vector<std::string>& problems) {
  const auto found = rank.metadata.find(trace::metadata_names::kInputStages);
  if (found == rank.metadata.end()) return false;
  const auto told = parse_stages(found->second);
  if (!told) {
    problems.push_back(fmt::format(
        "rank {}: the list of input stages in its trace cannot be read; its spans are counted instead", rank.rank));
    return false;
  }
  for (const Told& stage : *told) stages.add(stage);
  return !told->empty();
}

// From the first to the last thing that a thread did in the window, it waited for input whenever it did nothing else.
void add_row(const Lane& lane, std::optional<std::uint32_t> room, TimeRange bounds, Told& stage) {
  TimeRange seen = {};
  std::int64_t spent = 0;
  for (const trace::LaneSpan& span : lane.spans) {
    const std::int64_t time = overlap(span.time, bounds);
    if (time == 0 || span.parent != trace::LaneSpan::kNone) continue;
    const TimeRange part{std::max(span.time.begin, bounds.begin), std::min(span.time.end, bounds.end)};
    seen = spent == 0 ? part : TimeRange{seen.begin, std::max(seen.end, part.end)};
    spent += time;
    const bool waits = room && span.name == *room;
    (waits ? stage.room : stage.busy) += seconds(time);
    stage.items += waits ? 0 : 1;
  }
  stage.input += seconds(std::max<std::int64_t>(0, seen.length() - spent));
}

void add_rows(const trace::Run& run, const RankTrace& rank, TimeRange bounds, Stages& stages) {
  const auto room = run.names.find(trace::span_names::kWaitForRoom);
  std::vector<Told> rows;
  for (const Lane& lane : rank.lanes) {
    if (lane.kind != Lane::Kind::Input || !lane.name.starts_with(kRow)) continue;
    const std::string name = lane.name.substr(kRow.size());
    auto stage = std::ranges::find(rows, name, &Told::name);
    if (stage == rows.end()) stage = rows.insert(rows.end(), {.name = name});
    ++stage->threads;
    add_row(lane, room, bounds, *stage);
  }
  for (const Told& stage : rows) stages.add(stage);
}

// How long a counter was above zero while it was known: a value holds until the next.
struct Ready {
  std::int64_t some = 0, known = 0;
};
Ready ready_time(const CounterSeries& series, TimeRange bounds) {
  Ready ready;
  for (std::size_t i = 0; i + 1 < series.points.size(); ++i) {
    const std::int64_t time = overlap({series.points[i].time, series.points[i + 1].time}, bounds);
    ready.known += time;
    if (series.points[i].value > 0) ready.some += time;
  }
  return ready;
}

void add_occupancy(const trace::Run& run, const Window& window, Stages& stages) {
  std::map<std::string, Ready> all;
  std::vector<std::string> order;
  for (std::size_t i = 0; i < std::min(run.ranks.size(), window.ranks.size()); ++i)
    for (const CounterSeries& series : run.ranks[i].counters) {
      const std::string& name = run.names.text(series.name);
      if (!name.ends_with(kReady)) continue;
      const std::string stage = name.substr(0, name.size() - kReady.size());
      const Ready ready = ready_time(series, window.ranks[i]);
      if (!all.contains(stage)) order.push_back(stage);
      all[stage].some += ready.some;
      all[stage].known += ready.known;
    }
  for (const std::string& name : order)
    if (const Ready& ready = all[name]; ready.known > 0)
      stages[name].occupancy = static_cast<double>(ready.some) / static_cast<double>(ready.known);
}

}  // namespace

std::vector<InputStage> input_stages_of(const trace::Run& run, const Window& window,
                                        std::vector<std::string>& problems) {
  Stages stages;
  for (std::size_t i = 0; i < std::min(run.ranks.size(), window.ranks.size()); ++i)
    if (!add_told(run.ranks[i], stages, problems)) add_rows(run, run.ranks[i], window.ranks[i], stages);
  add_occupancy(run, window, stages);
  return stages.take();
}

}  // namespace ronde::report
