#include "ronde/train/logging/progress_text.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ronde/base/text/format.h"
#include "ronde/base/text/table.h"
#include "ronde/base/text/units.h"
#include "ronde/train/loop/noise_scale.h"

namespace ronde::train {
namespace {

constexpr std::size_t kLeastBar = 4, kMostBar = 30;

std::string percent(double share, int decimals) {
  return fmt::format("{:.{}f}%", 100 * share, decimals);
}

double done_of(const ProgressFacts& facts) {
  return facts.steps <= 0 ? 0
                          : std::clamp(static_cast<double>(facts.step) / static_cast<double>(facts.steps), 0.0, 1.0);
}

std::string epoch_text(std::int64_t epoch, std::int64_t epochs) {
  return fmt::format("epoch {}/{}", epoch + 1, epochs);
}

// Eighths of a column show that something moves.
std::string bar_text(double done, std::size_t columns) {
  constexpr std::array<const char*, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::size_t>(std::floor(done * 8 * static_cast<double>(columns)));
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i) text += "█";
  std::size_t used = eighths / 8;
  if (eighths % 8 > 0) text += kEighths[eighths % 8], ++used;
  for (; used < columns; ++used) text += "─";
  return text;
}

// The pieces of a line with the order in which they are given up: the one with the highest number first.
struct Piece {
  std::string text;
  int expendable;
};

std::vector<Piece> pieces_of(const ProgressFacts& facts, bool wide) {
  const Rates& rates = facts.rates;
  std::vector<Piece> pieces = {{fmt::format("loss {:.3f}", facts.results.loss), 1}};
  for (const Measure& measure : facts.results.measures)
    if (!measure.detail)
      pieces.push_back({fmt::format("{} {}", wide ? measure.name : measure.name.substr(0, 3), text_of(measure, 1)), 2});
  pieces.push_back({rate_text(rates.samples_per_second) + (wide ? " samples/s" : "/s"), 4});
  if (facts.left.count() > 0) pieces.push_back({fmt::format("ETA {}", clock_text(facts.left)), 3});
  pieces.push_back({fmt::format("{} {}", wide ? "waiting: input" : "in", percent(rates.input_share, 0)), 5});
  pieces.push_back({fmt::format("comm {}", percent(rates.comm_share, 0)), 6});
  return pieces;
}

std::size_t width_of(const std::vector<Piece>& pieces) {
  std::size_t width = 0;
  for (const Piece& piece : pieces) width += 2 + display_width(piece.text);
  return width;
}

// A row for the loss and each measure, with its details.
void add_results(Table& table, const std::string& of, const Results& results) {
  table.add({fmt::format("{} loss", of), fmt::format("{:.4f}", results.loss)});
  for (std::size_t i = 0; i < results.measures.size();) {
    const Measure& measure = results.measures[i];
    std::string details;
    for (++i; i < results.measures.size() && results.measures[i].detail; ++i)
      details += fmt::format("{}{}: {}", details.empty() ? "" : ", ", results.measures[i].name,
                             text_of(results.measures[i], 2));
    table.add({fmt::format("{} {}", of, measure.name),
               text_of(measure, 2) + (details.empty() ? "" : fmt::format(" ({})", details))});
  }
}

// What was to be reached, as the main measure is shown.
std::string target_text(const Summary& summary) {
  const auto& held_out = summary.validation ? summary.validation : summary.test;
  if (!held_out || held_out->measures.empty() || held_out->measures.front().percent)
    return percent(*summary.target_accuracy, 1);
  return fmt::format("{} {:.3f}", held_out->measures.front().name, *summary.target_accuracy);
}

std::string cut_to(std::string text, std::size_t width) {  // ASCII
  if (text.size() > width) text.resize(width);
  return text;
}

}  // namespace

std::int64_t steps_left(std::int64_t done, std::int64_t in_epochs, std::int64_t most) {
  return std::max<std::int64_t>(0, (most > 0 ? std::min(most, in_epochs) : in_epochs) - done);
}

std::string clock_text(std::chrono::nanoseconds time) {
  const auto seconds = std::max<std::int64_t>(0, std::chrono::round<std::chrono::seconds>(time).count());
  if (seconds < 3600) return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
  if (seconds < 86400) return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  return fmt::format("{}d {}h", seconds / 86400, seconds / 3600 % 24);
}

std::string rate_text(double per_second) {
  if (per_second < 9.995) return fmt::format("{:.2f}", per_second);
  if (per_second < 99.95) return fmt::format("{:.1f}", per_second);
  if (per_second < 9999.5) return fmt::format("{:.0f}", per_second);
  if (per_second < 999'950) return fmt::format("{:.1f}k", per_second / 1e3);
  return fmt::format("{:.1f}M", per_second / 1e6);
}

std::string grouped(std::int64_t number) {
  const std::string digits = fmt::format("{}", number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > std::size_t{number < 0} && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string progress_bar(const ProgressFacts& facts, std::size_t width) {
  const std::string epoch = epoch_text(facts.epoch, facts.epochs),
                    done = fmt::format("{:>4}", percent(done_of(facts), 0));
  const std::size_t head = epoch.size() + 1 + done.size();
  auto pieces = pieces_of(facts, true);
  if (head + 1 + kLeastBar + width_of(pieces) > width) pieces = pieces_of(facts, false);
  while (!pieces.empty() && head + width_of(pieces) > width)
    pieces.erase(std::ranges::max_element(pieces, {}, &Piece::expendable));
  if (head > width) return cut_to(done, width);
  const std::size_t used = head + width_of(pieces);
  std::string line = epoch + " ";
  if (width >= used + 1 + kLeastBar) line += bar_text(done_of(facts), std::min(kMostBar, width - used - 1)) + " ";
  line += done;
  for (const Piece& piece : pieces) line += "  " + piece.text;
  return line;
}

std::string progress_line(const ProgressFacts& facts) {
  std::string line = fmt::format("{}  step {}/{}", epoch_text(facts.epoch, facts.epochs), facts.step, facts.steps);
  for (const Piece& piece : pieces_of(facts, true)) line += "  " + piece.text;
  return line;
}

std::string epoch_line(const EpochFacts& facts) {
  std::string line = fmt::format("{}:", epoch_text(facts.epoch, facts.epochs));
  if (facts.trained) line += fmt::format(" {};", text_of(facts.train, false));
  if (facts.held_out) line += fmt::format(" {} {};", facts.held_out_name, text_of(*facts.held_out, false));
  line += fmt::format(" {}, {} samples/s", format_duration(facts.time), rate_text(facts.rates.samples_per_second));
  if (facts.noise_scale) line += fmt::format("; noise scale: {}", noise_text(*facts.noise_scale));
  return line;
}

std::string evaluation_line(const EvaluationFacts& facts) {
  return fmt::format("step {}: {} {}", facts.step, facts.held_out_name, text_of(facts.held_out, false));
}

std::string summary_text(const Summary& summary) {
  Table table({{"training"}, {"result"}});
  table.add({"time", format_duration(summary.time)});
  table.add({"steps", fmt::format("{} in {} epochs, {} samples", grouped(summary.steps), grouped(summary.epochs),
                                  grouped(summary.samples))});
  if (summary.skipped_steps) table.add({"skipped steps (overflow)", grouped(*summary.skipped_steps)});
  table.add({"samples/s", fmt::format("{} on {} rank{}", rate_text(summary.rates.samples_per_second), summary.ranks,
                                      summary.ranks == 1 ? "" : "s")});
  if (summary.efficiency) table.add({"scaling efficiency", percent(*summary.efficiency, 1) + " of one rank"});
  table.add({"waiting for input", percent(summary.rates.input_share, 1)});
  if (!summary.input_limit.empty()) table.add({"", summary.input_limit});
  if (summary.skipped_samples > 0) table.add({"skipped samples", grouped(summary.skipped_samples)});
  table.add({"waiting for communication", percent(summary.rates.comm_share, 1)});
  add_results(table, "training", summary.train);
  if (summary.validation) add_results(table, "validation", *summary.validation);
  if (summary.test) add_results(table, "test", *summary.test);
  if (summary.noise_scale) table.add({"noise scale", noise_text(*summary.noise_scale)});
  if (summary.target_accuracy)
    table.add({fmt::format("time to {}", target_text(summary)),
               summary.time_to_target_accuracy ? format_duration(*summary.time_to_target_accuracy) : "not reached"});
  for (const auto& [what, where] : summary.places) table.add({what, where});
  return table.text();
}

}  // namespace ronde::train
