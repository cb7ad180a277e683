#include "ronde/report/text/text.h"

#include <algorithm>
#include <cctype>
#include <functional>

#include "ronde/base/text/format.h"
#include "ronde/base/text/table.h"
#include "ronde/base/text/terminal.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/report/text/text_parts.h"

namespace ronde::report {

namespace {

using namespace detail;

constexpr std::size_t kFewRanks = 8;        // more: the slowest, the one in the middle, the fastest
constexpr double kGood = 0.9, kFair = 0.8;  // as on the page (page/tree.js)

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
  const std::string source = text_at(document, "source");
  return facts.empty() ? "" : "\n" + wrapped((source.empty() ? "" : source + ": ") + join(facts, ", "));
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
               {"for device", Align::Right},
               {""}});
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const double total = number_or_zero(ranks[i], "total");
    const auto share = [&](std::string_view key) {
      const auto value = number_at(ranks[i], key);
      return value && total > 0 ? percent(*value / total) : kUnknown;
    };
    table.add({text_at(ranks[i], "rank"), shortened(text_at(ranks[i], "host"), 12),
               duration(number_at(ranks[i], "total")), share("compute"), share("optimizer"), share("exposed"),
               share("input"), share("idle"), share("hidden"),
               number_or_zero(ranks[i], "device") > 0 ? share("device") : "", remarks[i]});
  }
  std::string out = title(paint, "Where the time goes");
  if (const auto median = number_at(part, "median_seconds"); median && *median > 0)
    out += wrapped("A step takes " + duration(median) + " (median). " + text_at(at(part, "slow"), "text"), "  ");
  return out + table.drop_empty_columns().text(2);
}

std::string devices(const Json& document, const Paint& paint) {
  std::vector<Json> list = objects_at(document, "devices");
  if (list.empty()) return "";
  std::vector<std::string> remarks(list.size());
  if (list.size() > kFewRanks) {
    std::ranges::stable_sort(list, std::greater(), [](const Json& one) { return number_or_zero(one, "busy"); });
    list = {list.front(), list[list.size() / 2], list.back()};
    remarks = {"busiest", "middle", "least busy"};
  }
  Table table({{"rank", Align::Right},
               {"host"},
               {"busy", Align::Right},
               {"computing", Align::Right},
               {"collectives", Align::Right},
               {"copies", Align::Right},
               {"idle", Align::Right},
               {""}});
  for (std::size_t i = 0; i < list.size(); ++i) {
    const double whole = number_or_zero(list[i], "seconds");
    const auto share = [&](std::string_view key) {
      const auto value = number_at(list[i], key);
      return value && whole > 0 ? percent(*value / whole) : kUnknown;
    };
    table.add({text_at(list[i], "rank"), shortened(text_at(list[i], "host"), 12), share("busy"), share("computing"),
               share("collectives"), share("copies"), share("idle"), remarks[i]});
  }
  return title(paint, "What the devices do") + table.drop_empty_columns().text(2);
}

// --- What to do ---

std::string advice(const Json& document, const Paint& paint) {
  if (!at(document, "advice").is_array()) return "";
  const std::vector<Json> list = objects_at(document, "advice");
  std::string out = title(paint, "What to change");
  if (list.empty() && text_at(document, "state") == "unknown")
    return out + "  No rule found a loss in what was recorded.\n";
  if (list.empty()) return out + "  " + paint.green("Nothing") + ": no rule found a loss worth fixing.\n";
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto gain = number_at(list[i], "gain");
    const std::string head = fmt::format("  {}. ", i + 1);
    out += wrapped(
        text_at(list[i], "title") + (gain && *gain > 0 ? fmt::format(" (up to {} of the time)", percent(gain)) : ""),
        head);
    out += sentence(list[i], "evidence", "     seen    ") + sentence(list[i], "change", "     change  ");
    const std::string setting = text_at(list[i], "setting"), flag = text_at(list[i], "flag");
    if (!setting.empty())
      out += "     set     " + paint.bold(setting) + (flag.empty() ? "" : ", as a flag " + paint.bold(flag)) + "\n";
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
         devices(document, paint) + causes_text(document, paint) + advice(document, paint) + next_step(document, paint);
}

}  // namespace ronde::report
