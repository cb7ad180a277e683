#include "ronde/comm/watch/departure.h"

#include <algorithm>
#include <string_view>
#include <utility>

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

// One a line: JSON that is written without indentation has none of its own.
std::vector<std::string> write_departures(std::span<const Departure> departures, std::size_t most_bytes) {
  std::vector<std::string> messages;
  for (const Departure& departure : departures) {
    const std::string text = write_departure(departure, most_bytes);
    if (messages.empty() || messages.back().size() + 1 + text.size() > most_bytes) {
      messages.push_back(text);
    } else {
      messages.back() += '\n' + text;
    }
  }
  return messages;
}

std::vector<Departure> read_departures(std::string_view message) {
  std::vector<Departure> departures;
  while (!message.empty()) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    Departure departure = read_departure(std::string(message.substr(0, end)));
    if (departure.rank >= 0) departures.push_back(std::move(departure));
    message.remove_prefix(std::min(end + 1, message.size()));
  }
  return departures;
}

}  // namespace ronde::comm::detail
