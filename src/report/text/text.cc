#include "ronde/report/text/text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>

#include "ronde/base/text/format.h"
#include "ronde/base/text/table.h"
#include "ronde/base/text/terminal.h"
#include "ronde/base/text/text.h"
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

std::string verdict(const Report& report, const Paint& paint) {
  const Verdict& verdict = report.verdict;
  std::string out;
  if (!verdict.text.empty()) {
    const std::string_view state = name(verdict.state);
    std::string word(state);
    std::ranges::transform(word, word.begin(), [](unsigned char letter) { return std::toupper(letter); });
    out += painted(paint, state, word) + wrapped(verdict.text, word + "  ").substr(word.size());
  }
  for (const std::string& problem : report.problems) out += paint.yellow("!") + wrapped(problem, "! ").substr(1);
  return out;
}

std::string job(const Report& report) {
  const JobFacts& job = report.job;
  const Window& window = report.window;
  std::vector<std::string> facts;
  const auto add = [&](std::string_view before, const std::string& text) {
    if (!text.empty()) facts.push_back(std::string(before) + text);
  };
  const auto add_count = [&](int number, std::string_view thing) {
    if (number > 0) facts.push_back(counted(static_cast<std::size_t>(number), thing));
  };
  add("recipe ", job.recipe);
  add("", job.network);
  add("on ", job.data);
  add("", job.precision);
  if (job.batch != 0) facts.push_back(fmt::format("batch {}", job.batch));
  add_count(report.ranks, "rank");
  add_count(job.nodes, "node");
  add("", job.device);
  if (window.steps > 0)
    facts.push_back(fmt::format("{} steps ({} to {})", window.steps, window.first_step, window.last_step));
  facts.push_back("in " + duration(window.seconds()));
  return "\n" + wrapped((report.source.empty() ? "" : report.source + ": ") + join(facts, ", "));
}

// --- The tree ---

struct TreeLine {
  std::string name;
  double value = 0;
  bool leaf = false;
};

void add_lines(const Factor& node, int depth, std::vector<TreeLine>& lines) {
  lines.push_back({std::string(static_cast<std::size_t>(2 * depth), ' ') + node.name,
                   std::isfinite(node.value) ? node.value : 0, node.children.empty()});
  for (const Factor& child : node.children) add_lines(child, depth + 1, lines);
}

std::string tree(const Factor& root, std::string_view head, const Paint& paint) {
  if (root.key.empty()) return "";
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

double work_of(const RankSteps* rank) {
  return rank->all.compute + rank->all.optimizer;
}

// Of many: the first, the one in the middle and the last in falling order of `amount`, each with its remark.
template <class Row, class Amount>
std::vector<std::string> keep_few(std::vector<Row>& rows, Amount amount, std::vector<std::string> remarks) {
  if (rows.size() <= kFewRanks) return std::vector<std::string>(rows.size());
  std::ranges::stable_sort(rows, std::greater(), amount);
  rows = {rows.front(), rows[rows.size() / 2], rows.back()};
  return remarks;
}

std::string share_of(double part, double all) {
  return all > 0 ? percent(part / all) : kUnknown;
}

std::string steps(const StepTable& part, const Paint& paint) {
  if (part.ranks.empty()) return "";
  std::vector<const RankSteps*> ranks;
  for (const RankSteps& rank : part.ranks) ranks.push_back(&rank);
  const auto remarks = keep_few(ranks, work_of, {"most work", "middle", "least work"});
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
    const Shares& all = ranks[i]->all;
    const auto share = [&](double part_of_it) { return share_of(part_of_it, all.total); };
    table.add({std::to_string(ranks[i]->rank), shortened(ranks[i]->host, 12), duration(all.total), share(all.compute),
               share(all.optimizer), share(all.exposed), share(all.input), share(all.idle), share(all.hidden),
               all.device > 0 ? share(all.device) : "", remarks[i]});
  }
  std::string out = title(paint, "Where the time goes");
  if (part.median_seconds > 0)
    out += wrapped("A step takes " + duration(part.median_seconds) + " (median). " + part.slow.text, "  ");
  return out + table.drop_empty_columns().text(2);
}

std::string devices(std::vector<DeviceUse> list, const Paint& paint) {
  if (list.empty()) return "";
  const auto remarks = keep_few(list, &DeviceUse::busy, {"busiest", "middle", "least busy"});
  Table table({{"rank", Align::Right},
               {"host"},
               {"busy", Align::Right},
               {"computing", Align::Right},
               {"collectives", Align::Right},
               {"copies", Align::Right},
               {"idle", Align::Right},
               {""}});
  for (std::size_t i = 0; i < list.size(); ++i) {
    const DeviceUse& use = list[i];
    const auto share = [&](double part) { return share_of(part, use.seconds); };
    table.add({std::to_string(use.rank), shortened(use.host, 12), share(use.busy), share(use.computing),
               share(use.collectives), share(use.copies), share(use.idle()), remarks[i]});
  }
  return title(paint, "What the devices do") + table.drop_empty_columns().text(2);
}

// --- What to do ---

std::string advice(const Report& report, const Paint& paint) {
  std::string out = title(paint, "What to change");
  if (report.advice.empty() && report.verdict.state == Verdict::State::Unknown)
    return out + "  No rule found a loss in what was recorded.\n";
  if (report.advice.empty()) return out + "  " + paint.green("Nothing") + ": no rule found a loss worth fixing.\n";
  int number = 0;
  for (const Advice& one : report.advice) {
    const std::string gain = one.gain > 0 ? fmt::format(" (up to {} of the time)", percent(one.gain)) : "";
    out += wrapped(one.title + gain, fmt::format("  {}. ", ++number));
    out += sentence(one.evidence, "     seen    ") + sentence(one.change, "     change  ");
    const std::string flag = flag_of(one.setting);
    if (!one.setting.empty())
      out += "     set     " + paint.bold(one.setting) + (flag.empty() ? "" : ", as a flag " + paint.bold(flag)) + "\n";
  }
  return out;
}

std::string next_step(const std::vector<GuideStage>& guide, const Paint& paint) {
  const auto here = std::ranges::find(guide, GuideStage::State::Here, &GuideStage::state);
  if (here == guide.end()) return "";
  return title(paint, "Next: " + here->stage) + sentence(here->text) +
         (here->command.empty() ? "" : "  $ " + paint.bold(here->command) + "\n");
}

}  // namespace

std::string text_report(const Report& report, bool colour) {
  const Paint paint(colour);
  return verdict(report, paint) + job(report) + tree(report.tree, "Efficiency", paint) +
         (report.device_tree ? tree(*report.device_tree, "Efficiency of the devices", paint) : "") +
         steps(report.steps, paint) + devices(report.devices, paint) + causes_text(report, paint) +
         advice(report, paint) + next_step(report.guide, paint);
}

}  // namespace ronde::report
