#include <algorithm>
#include <cmath>
#include <ranges>

#include "ronde/base/text/format.h"
#include "ronde/base/text/table.h"
#include "ronde/base/text/units.h"
#include "ronde/report/text/text_parts.h"

// What the text says between where the time goes and what to change: why.
namespace ronde::report::detail {
namespace {

constexpr std::size_t kProfileRows = 14, kOperatorRows = 8;

std::string input(const InputLimit& part, const Paint& paint) {
  if (part.stages.empty() && part.text.empty()) return "";
  std::string out = title(paint, "Input") + sentence(part.text);
  if (part.stages.empty()) return out;
  Table table({{"stage"},
               {"threads", Align::Right},
               {"busy", Align::Right},
               {"waiting", Align::Right},
               {"no room", Align::Right},
               {"items/s alone", Align::Right},
               {"ready", Align::Right},
               {""}});
  for (const InputStage& stage : part.stages)
    table.add({stage.name, std::to_string(stage.threads), duration(stage.busy), duration(stage.waiting_input),
               duration(stage.waiting_room), whole(known(stage.items_per_second)), percent(stage.occupancy),
               stage.name == part.limit ? "limits" : ""});
  return out + table.drop_empty_columns().text(2);
}

std::string collectives(const Collectives& part, const Paint& paint) {
  if (part.kinds.empty()) return "";
  Table table({{"name"},
               {"group"},
               {"count", Align::Right},
               {"bytes", Align::Right},
               {"time", Align::Right},
               {"reached", Align::Right},
               {"measured alone", Align::Right}});
  for (const CollectiveKind& kind : part.kinds)
    table.add({shortened(kind.name, 20), shortened(kind.group, 14), std::to_string(kind.count),
               format_bytes(static_cast<std::uint64_t>(std::clamp(kind.bytes, 0.0, 1e18))), duration(kind.seconds),
               bandwidth(kind.bandwidth_gb_s), bandwidth(known(kind.measured_gb_s))});
  return title(paint, "Collectives") + sentence(part.text) + table.text(2);
}

std::string roofline(const LayerRoofline& part, const Paint& paint) {
  return part.text.empty() ? "" : title(paint, "Roofline") + sentence(part.text);
}

std::string operators(const std::vector<OperatorTime>& list, const Paint& paint) {
  if (list.empty()) return "";
  Table table(
      {{"operator or kernel"}, {"kind"}, {"time", Align::Right}, {"share", Align::Right}, {"visits", Align::Right}});
  for (const OperatorTime& one : list | std::views::take(kOperatorRows))
    table.add(
        {shortened(one.name, 40), one.category, duration(one.seconds), percent(one.share), std::to_string(one.visits)});
  return title(paint, "Operators by time") + table.text(2);
}

std::string bottlenecks(const std::vector<Bottleneck>& list, const Paint& paint) {
  if (list.empty()) return "";
  if (std::ranges::none_of(list, &Bottleneck::known)) return title(paint, "Bottlenecks") + sentence(list.front().text);
  Table table({{"bottleneck"}, {"allows alone", Align::Right}, {""}});
  std::string why;
  for (const Bottleneck& one : list) {
    const auto speed_text = one.known ? speed(one.samples_per_second) : one.limits ? "not known" : "no limit";
    table.add({one.name, speed_text, one.binds ? "binds" : ""});
    if (one.binds) why += sentence(one.text);
  }
  return title(paint, "Bottlenecks") + why + table.drop_empty_columns().text(2);
}

std::string scaling(const Scaling& part, const Paint& paint) {
  Table table({{"run"},
               {"ranks", Align::Right},
               {"batch", Align::Right},
               {"speed", Align::Right},
               {"speed-up", Align::Right},
               {"efficiency", Align::Right}});
  for (const ScaledRun& run : part.runs)
    table.add({shortened(run.run.source, 24), std::to_string(run.run.ranks), std::to_string(run.run.batch),
               speed(run.run.samples_per_second),
               std::isfinite(run.speedup) ? fmt::format("{:.2f}", run.speedup) : kUnknown, percent(run.efficiency)});
  return title(paint, "Scaling") + sentence(part.text) + sentence(part.superlinear) +
         (part.amdahl ? sentence(part.amdahl->text) : "") + table.text(2);
}

std::string phases(const Phases& part, const Paint& paint) {
  if (part.phases.empty()) return "";
  Table table({{"phase"},
               {"time", Align::Right},
               {"share", Align::Right},
               {"ranks at work", Align::Right},
               {"one alone", Align::Right}});
  for (const Phase& phase : part.phases)
    table.add({std::string(name(phase.kind)), duration(phase.seconds), percent(phase.share),
               fmt::format("{:.1f}", phase.ranks_busy), duration(phase.sequential_seconds)});
  return title(paint, "Phases") + sentence(part.sequential.text) + table.text(2);
}

// --- The profile: what takes most, wherever it is ---

struct ProfileLine {
  int depth = 0;
  const PathTime* path = nullptr;
};

void add_paths(const std::vector<PathTime>& paths, int depth, double least, std::vector<ProfileLine>& lines) {
  constexpr int kDeepest = 12;
  for (const PathTime& path : paths) {
    if (path.inclusive < least) continue;
    lines.push_back({depth, &path});
    if (depth < kDeepest) add_paths(path.children, depth + 1, least, lines);
  }
}

std::string profile(const Report& report, const Paint& paint) {
  const std::vector<PathTime>& roots = report.profile.tree;
  double rows_time = 0;  // threads of the input and of communication run beside the training
  for (const PathTime& root : roots) rows_time += root.inclusive;
  const double ranks_time = report.window.seconds() * static_cast<double>(report.profile.ranks.size());
  // The least share that leaves few enough rows.
  std::vector<ProfileLine> lines;
  for (double least = 0.01; least < 1; least *= 1.5) {
    lines.clear();
    add_paths(roots, 0, least * rows_time, lines);
    if (lines.size() <= kProfileRows) break;
  }
  if (lines.empty()) return "";
  Table table({{"call path"},
               {"inclusive", Align::Right},
               {"share", Align::Right},
               {"exclusive", Align::Right},
               {"visits", Align::Right},
               {"rank with least", Align::Right},
               {"most", Align::Right}});
  for (const auto& [depth, path] : lines)
    table.add({std::string(static_cast<std::size_t>(2 * depth), ' ') + shortened(path->name, 30),
               duration(path->inclusive), ranks_time > 0 ? percent(path->inclusive / ranks_time) : kUnknown,
               duration(path->exclusive), std::to_string(path->visits), duration(path->min()), duration(path->max())});
  return title(paint, "Call paths by time") + table.text(2);
}

std::string compare(const Comparison& part, const Paint& paint) {
  if (part.paths.empty()) return "";
  Table table({{"call path"}, {"first", Align::Right}, {"second", Align::Right}, {"difference", Align::Right}});
  for (const ComparedPath& path : part.paths | std::views::take(kProfileRows))
    table.add({shortened(path.path, 50), duration(path.first), duration(path.second),
               (path.difference() > 0 ? "+" : "") + duration(path.difference())});
  return title(paint, "Two runs, one step of an average rank") +
         wrapped("First " + part.first + ", second " + part.second + ".", "  ") + table.text(2);
}

}  // namespace

std::string causes_text(const Report& report, const Paint& paint) {
  return (report.input ? input(*report.input, paint) : "") + collectives(report.collectives, paint) +
         (report.roofline ? roofline(*report.roofline, paint) : "") + bottlenecks(report.bottlenecks, paint) +
         (report.scaling ? scaling(*report.scaling, paint) : "") + phases(report.phases, paint) +
         profile(report, paint) + operators(report.operators, paint) +
         (report.compare ? compare(*report.compare, paint) : "");
}

}  // namespace ronde::report::detail
