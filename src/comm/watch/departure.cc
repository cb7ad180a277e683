#include "ronde/comm/watch/departure.h"

#include <string_view>

#include <nlohmann/json.hpp>

#include "ronde/base/text/format.h"

namespace ronde::comm::detail {
namespace {

constexpr std::size_t kLongestText = 1500;

Departure read_fields(const nlohmann::json& json) {
  Departure departure{.rank = json.at("rank"), .blamed = json.at("blamed"), .text = json.at("text"), .done = {}};
  for (const auto& one : json.at("done")) departure.done.push_back({one.at(0), one.at(1), one.at(2), one.at(3)});
  departure.by_itself = json.value("by_itself", false);
  return departure;
}

}  // namespace

std::string write_departure(const Departure& departure, std::size_t most_bytes) {
  const std::string head = nlohmann::json{
      {"rank", departure.rank},
      {"blamed", departure.blamed},
      {"text", departure.text.substr(0, kLongestText)},
      {"by_itself",
       departure.by_itself}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string text = head.substr(0, head.size() - 1) + R"(,"done":[)";
  constexpr std::string_view kEnd = "]}";
  for (std::size_t i = 0; i < departure.done.size(); ++i) {
    const Departure::Done& done = departure.done[i];
    const std::string one =
        fmt::format("{}[{},{},{},{}]", i > 0 ? "," : "", done.channel, done.partner, done.rounds, done.buckets);
    if (text.size() + one.size() + kEnd.size() > most_bytes) break;
    text += one;
  }
  return text.append(kEnd);
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
