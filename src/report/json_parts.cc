#include "ronde/report/json_parts.h"

namespace ronde::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::pair<const char*, double Shares::*> kShares[] = {
    {"total", &Shares::total},     {"compute", &Shares::compute}, {"optimizer", &Shares::optimizer},
    {"exposed", &Shares::exposed}, {"input", &Shares::input},     {"idle", &Shares::idle},
    {"hidden", &Shares::hidden},   {"moving", &Shares::moving}};

// What a step's bar is made of.
constexpr std::pair<const char*, double Shares::*> kStack[] = {{"compute", &Shares::compute},
                                                               {"optimizer", &Shares::optimizer},
                                                               {"exposed", &Shares::exposed},
                                                               {"input", &Shares::input},
                                                               {"idle", &Shares::idle}};

Json stack_of(const RankSteps& rank) {
  Json row = {{"rank", rank.rank}};
  for (const auto& [key, member] : kStack) {
    Json values = Json::array();
    for (const Shares& step : rank.steps) values.push_back(step.*member);
    row[key] = std::move(values);
  }
  return row;
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
          {"device", efficiency.device ? to_json(*efficiency.device) : Json()}};
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
  Json ranks = Json::array(), stack = Json::array();
  for (const RankSteps& rank : steps.ranks) {
    Json row = {{"rank", rank.rank}, {"host", rank.host}};
    for (const auto& [key, member] : kShares) row[key] = rank.all.*member;
    row["overlap"] = rank.all.overlap();
    ranks.push_back(std::move(row));
    stack.push_back(stack_of(rank));
  }
  return {{"numbers", steps.numbers},
          {"seconds", steps.seconds},
          {"median_seconds", steps.median_seconds},
          {"slowest", steps.slowest},
          {"slow",
           {{"rank", steps.slow.rank},
            {"host", steps.slow.host},
            {"share_of_steps", steps.slow.share_of_steps},
            {"excess", steps.slow.excess},
            {"always", steps.slow.always},
            {"text", steps.slow.text}}},
          {"ranks", std::move(ranks)},
          {"stack", std::move(stack)}};
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
