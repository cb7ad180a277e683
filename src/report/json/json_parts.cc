#include "ronde/report/json/json_parts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ronde/base/text/format.h"
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

}  // namespace

Json to_json(const Factor& factor) {
  Json children = Json::array();
  for (const Factor& child : factor.children) children.push_back(to_json(child));
  return {{"key", factor.key},
          {"name", factor.name},
          {"value", factor.value},
          {"meaning", factor.meaning},
          {"children", std::move(children)}};
}

Json to_json(const Efficiency& efficiency, const trace::Run& run) {
  Json ranks = Json::array();
  for (const trace::RankTrace& rank : run.ranks) ranks.push_back(rank.rank);
  return {{"seconds", efficiency.seconds},
          {"no_input_seconds", efficiency.no_input_seconds},
          {"ideal_seconds", efficiency.ideal_seconds},
          {"useful_seconds", efficiency.useful_seconds},
          {"ranks", std::move(ranks)},
          {"tree", to_json(efficiency.parallel)},
          {"device", efficiency.device ? to_json(*efficiency.device) : Json()},
          {"computation", efficiency.computation ? to_json(*efficiency.computation) : Json()}};
}

Json to_json(const std::vector<DeviceUse>& devices) {
  Json all = Json::array();
  for (const DeviceUse& use : devices)
    all.push_back({{"rank", use.rank},
                   {"host", use.host},
                   {"seconds", use.seconds},
                   {"busy", use.busy},
                   {"computing", use.computing},
                   {"collectives", use.collectives},
                   {"copies", use.copies},
                   {"idle", use.idle()}});
  return all;
}

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

Json to_json(const JobFacts& facts, const trace::Run& run) {
  return {{"recipe", facts.recipe},       {"network", facts.network},      {"data", facts.data},
          {"precision", facts.precision}, {"batch", facts.batch},          {"ranks", run.world_size},
          {"nodes", facts.nodes},         {"threads", facts.threads},      {"device", facts.device},
          {"processor", facts.processor}, {"parameters", facts.parameters}};
}

Json to_json(const Window& window) {
  return {{"seconds", window.seconds()},
          {"steps", window.steps},
          {"first_step", window.first_step},
          {"last_step", window.last_step}};
}

}  // namespace ronde::report
