#include "ronde/report/text.h"

#include <algorithm>
#include <cctype>

#include "ronde/base/format.h"
#include "ronde/base/table.h"
#include "ronde/base/terminal.h"
#include "ronde/base/text.h"
#include "ronde/base/units.h"
#include "ronde/report/detail/text_parts.h"

namespace ronde::report {

namespace {

using namespace detail;

constexpr std::size_t kFewRanks = 8;  // more: the slowest, the one in the middle, the fastest
constexpr std::size_t kProfileRows = 14;
constexpr double kGood = 0.9, kFair = 0.8;  // as on the page (page/tree.js)

std::string title(const Paint& paint, std::string_view text) {
  return "\n" + paint.bold(text) + "\n";
}

std::string sentence(const Json& in, std::string_view key, std::string_view first = "  ") {
  const std::string text = text_at(in, key);
  return text.empty() ? "" : wrapped(text, first);
}

std::string painted(const Paint& paint, std::string_view state, std::string_view text) {
  if (state == "good") return paint.green(text);
  if (state == "fair") return paint.yellow(text);
  return state == "poor" ? paint.red(text) : paint.bold(text);
}

// --- The head ---

std::string verdict(const Json& document, const Paint& paint) {
  const std::string state = text_at(document, "state"), text = text_at(document, "verdict");
  std::string out;
  if (!text.empty()) {
    std::string word = state;
    std::ranges::transform(word, word.begin(), [](unsigned char letter) { return std::toupper(letter); });
    const std::string first = word.empty() ? "" : word + "  ";
    out += painted(paint, state, word) + wrapped(text, first).substr(word.size());
  }
  const Json& problems = at(document, "problems");
  if (problems.is_array()) {
    for (const Json& problem : problems)
      if (problem.is_string()) out += paint.yellow("!") + wrapped(problem.get<std::string>(), "! ").substr(1);
  }
  return out;
}

std::string job(const Json& document) {
  const Json &job = at(document, "job"), &window = at(document, "window");
  std::vector<std::string> facts;
  const auto add = [&](std::string_view key, std::string_view form) {
    const std::string text = text_at(job, key);
    if (!text.empty() && text != "0") facts.push_back(fmt::format(fmt::runtime(form), text));
  };
  add("recipe", "recipe {}");
  add("network", "{}");
  add("data", "on {}");
  add("precision", "{}");
  add("batch", "batch {}");
  for (const char* thing : {"rank", "node"}) {
    const double number = std::clamp(number_or_zero(job, thing + std::string("s")), 0.0, 1e9);
    if (number > 0) facts.push_back(counted(static_cast<std::size_t>(number), thing));
  }
  add("device", "{}");
  if (number_or_zero(window, "steps") > 0)
    facts.push_back(fmt::format("{} steps ({} to {})", text_at(window, "steps"), text_at(window, "first_step"),
                                text_at(window, "last_step")));
  if (const auto seconds = number_at(window, "seconds")) facts.push_back("in " + duration(seconds));
  return facts.empty() ? "" : "\n" + wrapped(join(facts, ", "));
}

// --- The tree ---

struct TreeLine {
  std::string name;
  double value = 0;
  bool leaf = false;
};

void add_lines(const Json& node, int depth, std::vector<TreeLine>& lines) {
  constexpr int kDeepest = 12;  // a document may be anything
  const std::vector<Json> children = objects_at(node, "children");
  lines.push_back({std::string(static_cast<std::size_t>(2 * depth), ' ') + text_at(node, "name"),
                   number_or_zero(node, "value"), children.empty()});
  if (depth < kDeepest)
    for (const Json& child : children) add_lines(child, depth + 1, lines);
}

std::string tree(const Json& root, std::string_view head, const Paint& paint) {
  if (!root.is_object()) return "";
  std::vector<TreeLine> lines;
  add_lines(root, 0, lines);
  const TreeLine* worst = nullptr;
  std::size_t width = 0;
  for (const TreeLine& line : lines) {
    if (line.leaf && (worst == nullptr || line.value < worst->value)) worst = &line;
    width = std::max(width, display_width(line.name));
  }
  std::string out = title(paint, head);
  for (const TreeLine& line : lines) {
    const auto state = line.value >= kGood ? "good" : line.value >= kFair ? "fair" : "poor";
    const std::string blanks(width - display_width(line.name), ' ');
    out += fmt::format("  {}{}  {:>8}  {}{}\n", line.name, blanks, percent(line.value, 1),
                       painted(paint, state, bar(line.value, 30)),
                       &line == worst && lines.size() > 1 && line.value < 0.95 ? "  most is lost here" : "");
  }
  return out;
}

// --- Where the time goes ---

double work_of(const Json& rank) {
  return number_or_zero(rank, "compute") + number_or_zero(rank, "optimizer");
}

std::string steps(const Json& document, const Paint& paint) {
  const Json& part = at(document, "steps");
  std::vector<Json> ranks = objects_at(part, "ranks");
  if (ranks.empty()) return "";
  std::vector<std::string> remarks(ranks.size());
  if (ranks.size() > kFewRanks) {
    std::ranges::stable_sort(ranks, [](const Json& a, const Json& b) { return work_of(a) > work_of(b); });
    ranks = {ranks.front(), ranks[ranks.size() / 2], ranks.back()};
    remarks = {"most work", "middle", "least work"};
  }
  Table table({{"rank", Align::Right},
               {"host"},
               {"total", Align::Right},
               {"compute", Align::Right},
               {"optimizer", Align::Right},
               {"exposed", Align::Right},
               {"input", Align::Right},
               {"idle", Align::Right},
               {"hidden", Align::Right},
               {""}});
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const double total = number_or_zero(ranks[i], "total");
    const auto share = [&](std::string_view key) {
      const auto value = number_at(ranks[i], key);
      return value && total > 0 ? percent(*value / total) : kUnknown;
    };
    table.add({text_at(ranks[i], "rank"), shortened(text_at(ranks[i], "host"), 12),
               duration(number_at(ranks[i], "total")), share("compute"), share("optimizer"), share("exposed"),
               share("input"), share("idle"), share("hidden"), remarks[i]});
  }
  std::string out = title(paint, "Where the time goes");
  if (const auto median = number_at(part, "median_seconds"); median && *median > 0)
    out += wrapped("A step takes " + duration(median) + " (median). " + text_at(at(part, "slow"), "text"), "  ");
  return out + table.drop_empty_columns().text(2);
}

// --- Causes ---

std::string input(const Json& document, const Paint& paint) {
  const Json& part = at(document, "input");
  const std::vector<Json> stages = objects_at(part, "stages");
  if (stages.empty() && text_at(part, "text").empty()) return "";
  std::string out = title(paint, "Input") + sentence(part, "text");
  if (const auto ceiling = number_at(part, "ceiling_samples_per_second"))
    out += wrapped("Now " + speed(number_at(part, "samples_per_second")) + "; with an input that costs nothing " +
                       speed(ceiling) + ".",
                   "  ");
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
  out += table.text(2);
  const Json& fit = at(part, "fit");
  if (const auto latency = number_at(fit, "latency_us"))
    out += wrapped(
        fmt::format(
            "Fitted: latency {}, bandwidth {}; bandwidth rules from {} on.", duration(*latency / 1e6),
            bandwidth(number_at(fit, "bandwidth_gb_s")),
            format_bytes(static_cast<std::uint64_t>(std::clamp(number_or_zero(fit, "crossover_bytes"), 0.0, 1e18)))),
        "  ");
  return out;
}

std::string bottlenecks(const Json& document, const Paint& paint) {
  const std::vector<Json> list = objects_at(document, "bottlenecks");
  if (list.empty()) return "";
  Table table({{"bottleneck"}, {"allows alone", Align::Right}, {""}});
  std::string why;
  for (const Json& one : list) {
    const bool known = number_at(one, "samples_per_second") && at(one, "known") != Json(false);
    const bool binds = true_at(one, "binds");
    table.add({text_at(one, "name"), known ? speed(number_at(one, "samples_per_second")) : "not known",
               binds ? "binds" : ""});
    if (binds) why += sentence(one, "text");
  }
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
  return title(paint, "Scaling") + sentence(part, "text") + sentence(part, "superlinear") + table.text(2);
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
  double whole_time = 0;
  for (const Json& root : roots) whole_time += number_or_zero(root, "inclusive");
  // The least share that leaves few enough rows.
  std::vector<ProfileLine> lines;
  for (double least = 0.01; least < 1; least *= 1.5) {
    lines.clear();
    add_paths(roots, 0, least * whole_time, lines);
    if (lines.size() <= kProfileRows) break;
  }
  if (lines.empty()) return "";
  Table table({{"call path"},
               {"inclusive", Align::Right},
               {"share", Align::Right},
               {"exclusive", Align::Right},
               {"visits", Align::Right},
               {"a rank, least", Align::Right},
               {"most", Align::Right}});
  for (const auto& [depth, path] : lines)
    table.add({std::string(static_cast<std::size_t>(2 * depth), ' ') + shortened(text_at(path, "name"), 30),
               duration(number_at(path, "inclusive")),
               whole_time > 0 ? percent(number_or_zero(path, "inclusive") / whole_time) : kUnknown,
               duration(number_at(path, "exclusive")), text_at(path, "visits"), duration(number_at(path, "min")),
               duration(number_at(path, "max"))});
  return title(paint, "Call paths that take most") + table.text(2);
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
  return title(paint, "Two runs, a step of a mean rank") +
         wrapped("First " + text_at(part, "first") + ", second " + text_at(part, "second") + ".", "  ") + table.text(2);
}

// --- What to do ---

std::string advice(const Json& document, const Paint& paint) {
  if (!at(document, "advice").is_array()) return "";
  const std::vector<Json> list = objects_at(document, "advice");
  std::string out = title(paint, "What to change");
  if (list.empty()) return out + "  " + paint.green("Nothing") + ": no rule found a loss that is worth the effort.\n";
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto gain = number_at(list[i], "gain");
    const std::string head = fmt::format("  {}. ", i + 1);
    out += wrapped(
        text_at(list[i], "title") + (gain && *gain > 0 ? fmt::format(" (up to {} of the time)", percent(gain)) : ""),
        head);
    out += sentence(list[i], "evidence", "     seen    ") + sentence(list[i], "change", "     change  ");
    if (const std::string setting = text_at(list[i], "setting"); !setting.empty())
      out += "     set     " + paint.bold(setting) + "\n";
  }
  return out;
}

std::string next_step(const Json& document, const Paint& paint) {
  for (const Json& stage : objects_at(document, "guide")) {
    if (text_at(stage, "state") != "here") continue;
    const std::string command = text_at(stage, "command");
    return title(paint, "Next: " + text_at(stage, "stage")) + sentence(stage, "text") +
           (command.empty() ? "" : "  $ " + paint.bold(command) + "\n");
  }
  return "";
}

}  // namespace

std::string text_report(const Json& document, bool colour) {
  const Paint paint(colour);
  const Json& efficiency = at(document, "efficiency");
  return verdict(document, paint) + job(document) + tree(at(efficiency, "tree"), "Efficiency", paint) +
         tree(at(efficiency, "device"), "Efficiency of the devices", paint) + steps(document, paint) +
         input(document, paint) + collectives(document, paint) + bottlenecks(document, paint) +
         scaling(document, paint) + phases(document, paint) + profile(document, paint) + compare(document, paint) +
         advice(document, paint) + next_step(document, paint);
}

}  // namespace ronde::report
