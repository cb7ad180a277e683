#include "ronde/report/json/report_json.h"

#include <cmath>
#include <utility>

#include "ronde/report/json/json_parts.h"
#include "ronde/report/report.h"

namespace ronde::report {
namespace {

using Json = nlohmann::ordered_json;

// A rate or an amount of which 0 says that it is not known.
Json known_or_null(double value) {
  return value > 0 ? Json(value) : Json(nullptr);
}

Json finite_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

template <class Part>
Json or_null(const std::optional<Part>& part) {
  return part ? to_json(*part) : Json(nullptr);
}

// Hundreds of ranks times hundreds of paths are megabytes that nobody looks at: there, least and most have to do.
constexpr std::size_t kMostListedRanks = 64;

Json json_of(const PathTime& node) {
  Json children = Json::array();
  for (const PathTime& child : node.children) children.push_back(json_of(child));
  const bool listed = node.per_rank.size() <= kMostListedRanks;
  return {{"name", node.name},
          {"visits", node.visits},
          {"inclusive", node.inclusive},
          {"exclusive", node.exclusive},
          {"per_rank", listed ? Json(node.per_rank) : Json::array()},
          {"min", node.min()},
          {"max", node.max()},
          {"children", children}};
}

Json efficiency_json(const Report& report) {
  const Efficiency& efficiency = report.efficiency;
  return {{"seconds", efficiency.seconds},
          {"no_input_seconds", efficiency.no_input_seconds},
          {"ideal_seconds", efficiency.ideal_seconds},
          {"useful_seconds", efficiency.useful_seconds},
          {"ranks", report.profile.ranks},
          {"tree", to_json(report.tree)},
          {"device", or_null(report.device_tree)},
          {"computation", or_null(efficiency.computation)}};
}

Json job_json(const Report& report) {
  const JobFacts& facts = report.job;
  return {{"recipe", facts.recipe},       {"network", facts.network},      {"data", facts.data},
          {"precision", facts.precision}, {"batch", facts.batch},          {"ranks", report.ranks},
          {"nodes", facts.nodes},         {"threads", facts.threads},      {"device", facts.device},
          {"processor", facts.processor}, {"parameters", facts.parameters}};
}

Json window_json(const Window& window) {
  return {{"seconds", window.seconds()},
          {"steps", window.steps},
          {"first_step", window.first_step},
          {"last_step", window.last_step}};
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

Json to_json(const std::vector<Phase>& phases) {
  auto json = Json::array();
  for (const Phase& phase : phases)
    json.push_back({{"name", name(phase.kind)},
                    {"seconds", phase.seconds},
                    {"share", phase.share},
                    {"ranks_busy", phase.ranks_busy},
                    {"sequential_seconds", phase.sequential_seconds}});
  return json;
}

Json to_json(const Sequential& sequential) {
  auto parts = Json::array();
  for (const SequentialPart& part : sequential.parts)
    parts.push_back({{"name", part.name}, {"seconds", part.seconds}, {"rank", part.rank}});
  Json json{{"share", sequential.share}};
  json["limit"] = finite_or_null(sequential.limit);
  json["text"] = sequential.text;
  json["parts"] = std::move(parts);
  return json;
}

Json to_json(const Profile& profile) {
  Json tree = Json::array();
  for (const PathTime& node : profile.tree) tree.push_back(json_of(node));
  return {{"ranks", profile.ranks}, {"tree", tree}};
}

Json to_json(const Comparison& comparison) {
  Json paths = Json::array();
  for (const ComparedPath& path : comparison.paths)
    paths.push_back({{"path", path.path},
                     {"first", path.first},
                     {"second", path.second},
                     {"difference", path.difference()},
                     {"first_own", path.first_own},
                     {"second_own", path.second_own}});
  return {{"first", comparison.first}, {"second", comparison.second}, {"paths", paths}};
}

Json to_json(const std::vector<OperatorTime>& operators) {
  Json rows = Json::array();
  for (const OperatorTime& row : operators)
    rows.push_back({{"name", row.name},
                    {"category", row.category},
                    {"visits", row.visits},
                    {"seconds", row.seconds},
                    {"share", row.share}});
  return rows;
}

Json to_json(const InputLimit& input) {
  Json stages = Json::array();
  for (const InputStage& stage : input.stages)
    stages.push_back({{"name", stage.name},
                      {"busy", stage.busy},
                      {"waiting_input", stage.waiting_input},
                      {"waiting_room", stage.waiting_room},
                      {"items_per_second", known_or_null(stage.items_per_second)},
                      {"threads", stage.threads},
                      {"occupancy", stage.occupancy ? Json(*stage.occupancy) : Json(nullptr)}});
  return {{"limit", input.limit},
          {"text", input.text},
          {"waiting_share", input.waiting_share},
          {"ceiling_samples_per_second", known_or_null(input.ceiling_samples_per_second)},
          {"samples_per_second", known_or_null(input.samples_per_second)},
          {"stages", stages}};
}

Json to_json(const Collectives& collectives) {
  Json kinds = Json::array(), fit = nullptr;
  for (const CollectiveKind& kind : collectives.kinds)
    kinds.push_back({{"name", kind.name},
                     {"group", kind.group},
                     {"count", kind.count},
                     {"bytes", kind.bytes},
                     {"seconds", kind.seconds},
                     {"bandwidth_gb_s", kind.bandwidth_gb_s},
                     {"measured_gb_s", known_or_null(kind.measured_gb_s)}});
  if (collectives.fit) {
    Json points = Json::array();
    for (const CostPoint& point : collectives.fit->points) points.push_back({point.bytes, point.us / 1e6});
    fit = {{"latency_us", collectives.fit->latency_us},
           {"bandwidth_gb_s", known_or_null(collectives.fit->bandwidth_gb_s)},
           {"crossover_bytes", known_or_null(collectives.fit->crossover_bytes)},
           {"points", points}};
  }
  return {{"kinds", kinds}, {"fit", fit}, {"text", collectives.text}};
}

Json to_json(const std::vector<Bottleneck>& bottlenecks) {
  Json rows = Json::array();
  for (const Bottleneck& row : bottlenecks)
    rows.push_back({{"name", row.name},
                    {"samples_per_second", row.known ? Json(row.samples_per_second) : Json(nullptr)},
                    {"known", row.known},
                    {"binds", row.binds},
                    {"limits", row.limits},
                    {"text", row.text}});
  return rows;
}

Json to_json(const LayerRoofline& roofline) {
  Json layers = Json::array();
  for (const LayerPoint& layer : roofline.layers)
    layers.push_back({{"name", layer.name},
                      {"operation", layer.operation},
                      {"intensity", layer.intensity()},
                      {"flops_per_second", layer.flops_per_second()},
                      {"share", layer.share},
                      {"bound", layer.bound}});
  return {{"name", roofline.rates.name},
          {"flops_ceiling", known_or_null(roofline.rates.flops)},
          {"bytes_ceiling", known_or_null(roofline.rates.bytes)},
          {"layers", layers},
          {"text", roofline.text}};
}

Json to_json(const Scaling& scaling) {
  auto runs = Json::array();
  auto karp_flatt = Json::array();
  for (const ScaledRun& run : scaling.runs) {
    Json factors = Json::object(), phases = Json::object();
    const auto add = [&](const auto& self, const Factor& factor) -> void {
      factors[factor.key] = finite_or_null(factor.value);
      for (const Factor& child : factor.children) self(self, child);
    };
    add(add, run.global);
    for (const Phase& phase : run.run.phases) phases[name(phase.kind)] = phase.seconds;
    runs.push_back({{"source", run.run.source},
                    {"ranks", run.run.ranks},
                    {"batch", run.run.batch},
                    {"samples_per_second", run.run.samples_per_second},
                    {"speedup", run.speedup},
                    {"efficiency", run.efficiency},
                    {"factors", std::move(factors)},
                    {"phases", std::move(phases)},
                    {"computation_scaling", run.computation_scaling}});
    if (run.karp_flatt) karp_flatt.push_back({run.run.ranks, *run.karp_flatt});
  }
  Json json{{"kind", name(scaling.kind)},
            {"text", scaling.text},
            {"runs", std::move(runs)},
            {"lost", scaling.lost},
            {"superlinear", scaling.superlinear}};
  json["amdahl"] = nullptr;
  if (scaling.amdahl)
    json["amdahl"] = {{"serial_fraction", scaling.amdahl->serial_fraction},
                      {"limit", finite_or_null(scaling.amdahl->limit)},
                      {"karp_flatt", std::move(karp_flatt)},
                      {"text", scaling.amdahl->text}};
  return json;
}

Json to_json(const std::vector<GuideStage>& guide) {
  auto json = Json::array();
  for (const GuideStage& stage : guide)
    json.push_back(
        {{"stage", stage.stage}, {"state", name(stage.state)}, {"text", stage.text}, {"command", stage.command}});
  return json;
}

Json to_json(const std::vector<Advice>& advice) {
  auto json = Json::array();
  for (const Advice& one : advice) {
    Json at = nullptr;
    if (one.at) {
      at = {{"rank", one.at->rank}};
      at["step"] = one.at->step ? Json(*one.at->step) : Json(nullptr);
      at["begin"] = one.at->begin;
      at["end"] = one.at->end;
    }
    json.push_back({{"rule", one.rule},
                    {"title", one.title},
                    {"evidence", one.evidence},
                    {"change", one.change},
                    {"setting", one.setting},
                    {"flag", flag_of(one.setting)},
                    {"gain", one.gain},
                    {"at", std::move(at)}});
  }
  return json;
}

Json to_json(const Report& report) {
  Json json = {{"ronde_report", 1},
               {"source", report.source},
               {"verdict", report.verdict.text},
               {"state", name(report.verdict.state)},
               {"problems", report.problems},
               {"job", job_json(report)},
               {"window", window_json(report.window)},
               {"efficiency", efficiency_json(report)},
               {"devices", to_json(report.devices)},
               {"steps", to_json(report.steps)},
               {"phases", to_json(report.phases.phases)},
               {"sequential", to_json(report.phases.sequential)},
               {"profile", to_json(report.profile)},
               {"operators", to_json(report.operators)},
               {"compare", or_null(report.compare)},
               {"input", or_null(report.input)},
               {"collectives", to_json(report.collectives)},
               {"bottlenecks", to_json(report.bottlenecks)},
               {"roofline", or_null(report.roofline)},
               {"scaling", or_null(report.scaling)},
               {"guide", to_json(report.guide)},
               {"advice", to_json(report.advice)}};
  if (report.timeline) json["timeline"] = to_json(*report.timeline, report.window);
  return json;
}

}  // namespace ronde::report
