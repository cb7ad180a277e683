#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "ronde/base/text/format.h"
#include "ronde/report/json/json_parts.h"
#include "ronde/report/run/numbers.h"
#include "ronde/report/steps/step_bins.h"

namespace ronde::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::pair<const char*, double Shares::*> kShares[] = {
    {"total", &Shares::total},     {"compute", &Shares::compute}, {"optimizer", &Shares::optimizer},
    {"exposed", &Shares::exposed}, {"input", &Shares::input},     {"idle", &Shares::idle},
    {"hidden", &Shares::hidden},   {"moving", &Shares::moving},   {"device", &Shares::device}};

// What a step's bar is made of.
constexpr std::pair<const char*, double Shares::*> kStack[] = {{"compute", &Shares::compute},
                                                               {"optimizer", &Shares::optimizer},
                                                               {"exposed", &Shares::exposed},
                                                               {"input", &Shares::input},
                                                               {"idle", &Shares::idle}};

// Of ranks times bins; with five values each and what else is on a page, 5 MB are not reached.
constexpr std::size_t kMostStacked = 40'000, kMostStackedRanks = 256;

// Enough for a picture, and half as long as all digits.
double rounded(double value) {
  if (!(value > 0)) return 0;
  const double scale = std::pow(10.0, 4 - std::floor(std::log10(value)));
  return std::isfinite(scale) ? std::round(value * scale) / scale : value;
}

Json stack_of(int rank, const std::vector<Shares>& bins, bool whole) {
  Json row = {{"rank", rank}};
  for (const auto& [key, member] : kStack) {
    Json values = Json::array();
    for (const Shares& bin : bins) values.push_back(whole ? bin.*member : rounded(bin.*member));
    row[key] = std::move(values);
  }
  return row;
}

std::string left_out_text(const StepTable& table, std::size_t every, std::size_t ranks) {
  std::string text;
  if (every > 1) text = fmt::format("{} steps: the longest of every {} is shown.", table.numbers.size(), every);
  if (ranks < table.ranks.size())
    text += fmt::format("{}{} of {} ranks can be selected, from the one with most work to the one with least.",
                        text.empty() ? "" : " ", ranks, table.ranks.size());
  return text;
}

template <class Value>
Json picked(const std::vector<Value>& values, const std::vector<StepBin>& bins, std::size_t StepBin::*place) {
  Json all = Json::array();
  for (const StepBin& bin : bins) all.push_back(values[bin.*place]);
  return all;
}

std::string_view kind_text(trace::Lane::Kind kind) {
  switch (kind) {
    case trace::Lane::Kind::Training: return "training";
    case trace::Lane::Kind::Input: return "input";
    case trace::Lane::Kind::Checkpoint: return "checkpoint";
    case trace::Lane::Kind::Agree: return "agree";
    case trace::Lane::Kind::Move: return "move";
    case trace::Lane::Kind::Device: return "device";
    case trace::Lane::Kind::Other: break;
  }
  return "other";
}

double seconds_since(std::int64_t time, const Window& window) {
  return std::round(static_cast<double>(time - window.time.begin)) / 1e9;
}

}  // namespace

Json to_json(const StepTable& steps) {
  return to_json(steps, [&](std::size_t rank, std::size_t step) { return steps.ranks[rank].steps[step]; });
}

Json to_json(const StepTable& steps, const std::function<Shares(std::size_t, std::size_t)>& shares) {
  const std::vector<std::size_t> chosen = chosen_ranks(steps, kMostStackedRanks);
  const std::vector<StepBin> bins = bins_of(steps, kMostStacked / std::max<std::size_t>(1, chosen.size()));
  const std::size_t every = bins.empty() ? 1 : bins.front().last - bins.front().first + 1;
  Json ranks = Json::array(), stack = Json::array();
  for (const RankSteps& rank : steps.ranks) {
    Json row = {{"rank", rank.rank}, {"host", rank.host}};
    for (const auto& [key, member] : kShares) row[key] = rank.all.*member;
    row["overlap"] = rank.all.overlap();
    ranks.push_back(std::move(row));
  }
  for (const std::size_t place : chosen) {
    std::vector<Shares> binned;
    for (const StepBin& bin : bins) binned.push_back(shares(place, bin.longest));
    stack.push_back(stack_of(steps.ranks[place].rank, binned, every == 1));
  }
  Json json = {{"numbers", picked(steps.numbers, bins, &StepBin::longest)},
               {"seconds", picked(steps.seconds, bins, &StepBin::longest)},
               {"median_seconds", steps.median_seconds},
               {"slowest", picked(steps.slowest, bins, &StepBin::longest)},
               {"slow",
                {{"rank", steps.slow.rank},
                 {"host", steps.slow.host},
                 {"share_of_steps", steps.slow.share_of_steps},
                 {"excess", steps.slow.excess},
                 {"always", steps.slow.always},
                 {"text", steps.slow.text}}},
               {"left_out", left_out_text(steps, every, chosen.size())},
               {"ranks", std::move(ranks)},
               {"stack", std::move(stack)}};
  if (every > 1) {
    json["first"] = picked(steps.numbers, bins, &StepBin::first);
    json["last"] = picked(steps.numbers, bins, &StepBin::last);
  }
  return json;
}

Json to_json(const Timeline& timeline, const Window& window) {
  Json pieces = Json::array(), lanes = Json::array();
  for (const TimelinePiece& piece : timeline.pieces)
    pieces.push_back({{"number", piece.number},
                      {"title", piece.title},
                      {"begin", seconds_since(piece.time.begin, window)},
                      {"end", seconds_since(piece.time.end, window)}});
  for (const TimelineLane& lane : timeline.lanes) {
    Json spans = Json::array();
    for (const TimelineSpan& span : lane.spans)
      spans.push_back(
          Json::array({span.name, seconds_since(span.time.begin, window), seconds(span.time.length()), span.depth}));
    lanes.push_back({{"rank", lane.rank},
                     {"host", lane.host},
                     {"name", lane.name},
                     {"kind", kind_text(lane.kind)},
                     {"spans", std::move(spans)}});
  }
  return {{"steps", std::move(pieces)},
          {"names", timeline.names},
          {"lanes", std::move(lanes)},
          {"left_out", timeline.left_out}};
}

}  // namespace ronde::report
