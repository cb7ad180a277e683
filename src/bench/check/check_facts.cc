#include "ronde/bench/check/check_facts.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "ronde/base/error.h"

namespace ronde::bench::detail {
namespace {

using Json = nlohmann::json;

Json json_of(const std::optional<GpuFacts>& gpu) {
  if (!gpu) return nullptr;
  return Json::array({gpu->name, gpu->bus_id, gpu->total, gpu->free});
}

std::optional<GpuFacts> gpu_from(const Json& json) {
  if (json.is_null()) return {};
  return GpuFacts{json.at(0), json.at(1), json.at(2), json.at(3)};
}

Json json_of(const StartTimes& start) {
  return Json::array({start.launch ? Json(*start.launch) : Json(), start.load, start.meet, start.engine});
}

StartTimes start_from(const Json& json) {
  StartTimes start{.load = json.at(1), .meet = json.at(2), .engine = json.at(3)};
  if (!json.at(0).is_null()) start.launch = json.at(0).get<double>();
  return start;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Another version of Ronde may write other blobs: that is what the check is there to find.
template <class Read>
auto read(std::string_view blob, Read&& from) {
  try {
    return from(Json::parse(blob));
  } catch (const Json::exception&) {
    throw Error(Error::Kind::Mismatch, "a rank sent facts in an unknown format: it runs a different version of Ronde");
  }
}

}  // namespace

std::string to_blob(const RankFacts& facts) {
  return text_of({{"machine", facts.machine},
                  {"host", facts.host},
                  {"gpu", json_of(facts.gpu)},
                  {"no_gpu", facts.no_gpu},
                  {"start", json_of(facts.start)}});
}

RankFacts rank_facts_from(std::string_view blob) {
  return read(blob, [](const Json& json) {
    return RankFacts{.machine = json.at("machine"),
                     .host = json.at("host"),
                     .gpu = gpu_from(json.at("gpu")),
                     .no_gpu = json.at("no_gpu"),
                     .start = start_from(json.at("start"))};
  });
}

std::string to_blob(const NodeFacts& facts) {
  Json traits = Json::array();
  for (const Trait& trait : facts.traits) traits.push_back({trait.what, trait.value, trait.matters, trait.needed});
  return text_of({{"traits", traits},
                  {"cores", facts.cores},
                  {"memory_total", facts.memory_total},
                  {"memory_free", facts.memory_free}});
}

NodeFacts node_facts_from(std::string_view blob) {
  return read(blob, [](const Json& json) {
    NodeFacts facts{
        .cores = json.at("cores"), .memory_total = json.at("memory_total"), .memory_free = json.at("memory_free")};
    for (const Json& trait : json.at("traits"))
      facts.traits.push_back({trait.at(0), trait.at(1), trait.at(2), trait.at(3)});
    return facts;
  });
}

bool same_libraries(std::span<const NodeFacts> nodes) {
  const auto sum = [](const NodeFacts& node) {
    const auto found = std::ranges::find(node.traits, kLibraries, &Trait::what);
    return found == node.traits.end() ? std::string() : found->value;
  };
  return std::ranges::all_of(nodes, [&](const NodeFacts& node) { return sum(node) == sum(nodes.front()); });
}

std::optional<GpuFacts> own_gpu(std::span<const GpuFacts> visible, int local_rank) {
  if (visible.empty()) return {};
  return visible[static_cast<std::size_t>(local_rank) % visible.size()];
}

Nodes find_nodes(std::span<const RankFacts> ranks) {
  Nodes nodes;
  std::map<std::string, int> of_machine;
  std::map<std::string, int> machines_called;
  for (const RankFacts& facts : ranks) {
    const auto [found, is_new] = of_machine.try_emplace(facts.machine, static_cast<int>(nodes.ranks.size()));
    if (is_new) {
      const int same_name = ++machines_called[facts.host];
      nodes.names.push_back(same_name == 1 ? facts.host : fmt::format("{}({})", facts.host, same_name));
      nodes.ranks.emplace_back();
    }
    nodes.ranks[static_cast<std::size_t>(found->second)].push_back(static_cast<int>(nodes.of_rank.size()));
    nodes.of_rank.push_back(found->second);
  }
  return nodes;
}

}  // namespace ronde::bench::detail
