#include <algorithm>

#include "ronde/base/text/format.h"
#include "ronde/base/text/table.h"
#include "ronde/base/text/units.h"
#include "ronde/report/text/text_parts.h"

// What the text says between where the time goes and what to change: why.
namespace ronde::report::detail {
namespace {

constexpr std::size_t kProfileRows = 14, kOperatorRows = 8;

std::string input(const Json& document, const Paint& paint) {
  const Json& part = at(document, "input");
  const std::vector<Json> stages = objects_at(part, "stages");
  if (stages.empty() && text_at(part, "text").empty()) return "";
  std::string out = title(paint, "Input") + sentence(part, "text");
  if (stages.empty()) return out;
  Table table({{"stage"},
               {"threads", Align::Right},
               {"busy", Align::Right},
               {"waiting", Align::Right},
               {"no room", Align::Right},
               {"items/s alone", Align::Right},
               {"ready", Align::Right},
               {""}});
  for (const Json& stage : stages)
    table.add({text_at(stage, "name"), text_at(stage, "threads"), duration(number_at(stage, "busy")),
               duration(number_at(stage, "waiting_input")), duration(number_at(stage, "waiting_room")),
               whole(number_at(stage, "items_per_second")), percent(number_at(stage, "occupancy")),
               text_at(stage, "name") == text_at(part, "limit") ? "limits" : ""});
  return out + table.drop_empty_columns().text(2);
}

std::string collectives(const Json& document, const Paint& paint) {
  const Json& part = at(document, "collectives");
  const std::vector<Json> kinds = objects_at(part, "kinds");
  if (kinds.empty()) return "";
  std::string out = title(paint, "Collectives") + sentence(part, "text");
  Table table({{"name"},
               {"group"},
               {"count", Align::Right},
               {"bytes", Align::Right},
               {"time", Align::Right},
               {"reached", Align::Right},
               {"measured alone", Align::Right}});
  for (const Json& kind : kinds)
    table.add({shortened(text_at(kind, "name"), 20), shortened(text_at(kind, "group"), 14), text_at(kind, "count"),
               format_bytes(static_cast<std::uint64_t>(std::clamp(number_or_zero(kind, "bytes"), 0.0, 1e18))),
               duration(number_at(kind, "seconds")), bandwidth(number_at(kind, "bandwidth_gb_s")),
               bandwidth(number_at(kind, "measured_gb_s"))});
  return out + table.text(2);
}

std::string roofline(const Json& document, const Paint& paint) {
  const std::string text = sentence(at(document, "roofline"), "text");
  return text.empty() ? "" : title(paint, "Roofline") + text;
}

std::string operators(const Json& document, const Paint& paint) {
  std::vector<Json> list = objects_at(document, "operators");
  if (list.empty()) return "";
  if (list.size() > kOperatorRows) list.resize(kOperatorRows);
  Table table(
      {{"operator or kernel"}, {"kind"}, {"time", Align::Right}, {"share", Align::Right}, {"visits", Align::Right}});
  for (const Json& one : list)
    table.add({shortened(text_at(one, "name"), 40), text_at(one, "category"), duration(number_at(one, "seconds")),
               percent(number_at(one, "share")), text_at(one, "visits")});
  return title(paint, "Operators by time") + table.text(2);
}

std::string bottlenecks(const Json& document, const Paint& paint) {
  const std::vector<Json> list = objects_at(document, "bottlenecks");
  if (list.empty()) return "";
  Table table({{"bottleneck"}, {"allows alone", Align::Right}, {""}});
  std::string why;
  bool any = false;
  for (const Json& one : list) {
    const bool known = number_at(one, "samples_per_second") && at(one, "known") != Json(false);
    const bool binds = true_at(one, "binds");
    table.add({text_at(one, "name"),
               known                              ? speed(number_at(one, "samples_per_second"))
               : at(one, "limits") == Json(false) ? "no limit"
                                                  : "not known",
               binds ? "binds" : ""});
    if (binds) why += sentence(one, "text");
    any = any || known;
  }
  if (!any) return title(paint, "Bottlenecks") + sentence(list.front(), "text");
  return title(paint, "Bottlenecks") + why + table.drop_empty_columns().text(2);
}

std::string scaling(const Json& document, const Paint& paint) {
  const Json& part = at(document, "scaling");
  const std::vector<Json> runs = objects_at(part, "runs");
  if (runs.empty()) return "";
  Table table({{"run"},
               {"ranks", Align::Right},
               {"batch", Align::Right},
               {"speed", Align::Right},
               {"speed-up", Align::Right},
               {"efficiency", Align::Right}});
  for (const Json& run : runs) {
    const auto speedup = number_at(run, "speedup");
    table.add({shortened(text_at(run, "source"), 24), text_at(run, "ranks"), text_at(run, "batch"),
               speed(number_at(run, "samples_per_second")), speedup ? fmt::format("{:.2f}", *speedup) : kUnknown,
               percent(number_at(run, "efficiency"))});
  }
  return title(paint, "Scaling") + sentence(part, "text") + sentence(part, "superlinear") +
         sentence(at(part, "amdahl"), "text") + table.text(2);
}

std::string phases(const Json& document, const Paint& paint) {
  const std::vector<Json> list = objects_at(document, "phases");
  if (list.empty()) return "";
  Table table({{"phase"},
               {"time", Align::Right},
               {"share", Align::Right},
               {"ranks at work", Align::Right},
               {"one alone", Align::Right}});
  for (const Json& phase : list) {
    const auto busy = number_at(phase, "ranks_busy");
    table.add({text_at(phase, "name"), duration(number_at(phase, "seconds")), percent(number_at(phase, "share")),
               busy ? fmt::format("{:.1f}", *busy) : kUnknown, duration(number_at(phase, "sequential_seconds"))});
  }
  return title(paint, "Phases") + sentence(at(document, "sequential"), "text") + table.text(2);
}

// --- The profile: what takes most, wherever it is ---

struct ProfileLine {
  int depth = 0;
  Json path;
};

void add_paths(const std::vector<Json>& paths, int depth, double least, std::vector<ProfileLine>& lines) {
  constexpr int kDeepest = 12;
  for (const Json& path : paths) {
    if (number_or_zero(path, "inclusive") < least) continue;
    lines.push_back({depth, path});
    if (depth < kDeepest) add_paths(objects_at(path, "children"), depth + 1, least, lines);
  }
}

std::string profile(const Json& document, const Paint& paint) {
  const std::vector<Json> roots = objects_at(at(document, "profile"), "tree");
  if (roots.empty()) return "";
  double rows_time = 0;  // threads of the input and of communication run beside the training
  for (const Json& root : roots) rows_time += number_or_zero(root, "inclusive");
  const double ranks_time = number_or_zero(at(document, "window"), "seconds") *
                            static_cast<double>(at(at(document, "profile"), "ranks").size());
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
    table.add({std::string(static_cast<std::size_t>(2 * depth), ' ') + shortened(text_at(path, "name"), 30),
               duration(number_at(path, "inclusive")),
               ranks_time > 0 ? percent(number_or_zero(path, "inclusive") / ranks_time) : kUnknown,
               duration(number_at(path, "exclusive")), text_at(path, "visits"), duration(number_at(path, "min")),
               duration(number_at(path, "max"))});
  return title(paint, "Call paths by time") + table.text(2);
}

std::string compare(const Json& document, const Paint& paint) {
  const Json& part = at(document, "compare");
  std::vector<Json> paths = objects_at(part, "paths");
  if (paths.empty()) return "";
  if (paths.size() > kProfileRows) paths.resize(kProfileRows);
  Table table({{"call path"}, {"first", Align::Right}, {"second", Align::Right}, {"difference", Align::Right}});
  for (const Json& path : paths) {
    const auto difference = number_at(path, "difference");
    table.add({shortened(text_at(path, "path"), 50), duration(number_at(path, "first")),
               duration(number_at(path, "second")), (difference && *difference > 0 ? "+" : "") + duration(difference)});
  }
  return title(paint, "Two runs, one step of an average rank") +
         wrapped("First " + text_at(part, "first") + ", second " + text_at(part, "second") + ".", "  ") + table.text(2);
}

}  // namespace

std::string causes_text(const Json& document, const Paint& paint) {
  return input(document, paint) + collectives(document, paint) + roofline(document, paint) +
         bottlenecks(document, paint) + scaling(document, paint) + phases(document, paint) + profile(document, paint) +
         operators(document, paint) + compare(document, paint);
}

}  // namespace ronde::report::detail
