#include "ronde/comm/watch/departure.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace ronde::comm::detail {
namespace {

constexpr std::size_t kLongestText = 1500, kMostGroups = 1000;

Departure read_fields(const nlohmann::json& json) {
  Departure departure{.rank = json.at("rank"), .blamed = json.at("blamed"), .text = json.at("text"), .done = {}};
  for (const auto& one : json.at("done")) departure.done.push_back({one.at(0), one.at(1), one.at(2), one.at(3)});
  departure.by_itself = json.value("by_itself", false);
  return departure;
}

}  // namespace

std::string write_departure(const Departure& departure) {
  nlohmann::json done = nlohmann::json::array();
  for (std::size_t i = 0; i < std::min(departure.done.size(), kMostGroups); ++i)
    done.push_back(
        {departure.done[i].channel, departure.done[i].partner, departure.done[i].rounds, departure.done[i].buckets});
  return nlohmann::json{{"rank", departure.rank},
                        {"blamed", departure.blamed},
                        {"text", departure.text.substr(0, kLongestText)},
                        {"done", done},
                        {"by_itself", departure.by_itself}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Departure read_departure(const std::string& bytes) {
  const auto json = nlohmann::json::parse(bytes, nullptr, false);
  if (!json.is_object() || !json.contains("rank") || !json.contains("done")) return {};
  try {
    return read_fields(json);
  } catch (const nlohmann::json::exception&) {  // a field is missing, or is of another kind
    return {};
  }
}

}  // namespace ronde::comm::detail
