#include "ronde/launch/place/hosts.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::launch {
namespace {

constexpr int kMostSlots = 65536;

// Letters that a host name or an address may have; anything else is a slip, and would reach a command line.
bool is_host_name(std::string_view name) {
  const auto is_fine = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) || letter == '.' || letter == '-' || letter == '_';
  };
  return !name.empty() && name.front() != '-' && std::ranges::all_of(name, is_fine);
}

std::optional<int> parse_slots(std::string_view text) {
  const auto slots = parse_number<int>(text);
  if (!slots || *slots < 1 || *slots > kMostSlots) return {};
  return slots;
}

// "name" or "name:slots". `where` begins the sentence about what is wrong.
Host parse_host(std::string_view word, const std::string& where) {
  const auto pieces = split(word, ':');
  if (pieces.size() > 2 || !is_host_name(pieces.front()))
    throw Error::bad_input("{}: '{}' is not a host; write name or name:slots", where, word);
  const auto slots = pieces.size() == 2 ? parse_slots(pieces[1]) : std::optional<int>(1);
  if (!slots)
    throw Error::bad_input("{}: '{}' has '{}' slots; write a whole number from 1 to {}", where, word, pieces[1],
                           kMostSlots);
  return {.name = std::string(pieces.front()), .slots = *slots, .most = *slots};
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (auto rest = trim(line.substr(0, line.find('#'))); !rest.empty();) {
    const auto end = std::min(rest.find_first_of(" \t"), rest.size());
    words.push_back(rest.substr(0, end));
    rest = trim(rest.substr(end));
  }
  return words;
}

// What Open MPI allows after the name. Its max_slots is a bound for over-subscription, which we have a flag for.
void read_attribute(Host& host, std::string_view word, const std::string& where) {
  const auto equals = word.find('=');
  const auto key = word.substr(0, equals);
  const auto value = equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
  constexpr auto kSlots = std::to_array<std::string_view>({"slots", "cpu", "count"});
  const bool is_slots = std::ranges::count(kSlots, key) > 0;
  if (!is_slots && key != "max_slots" && key != "max-slots")
    throw Error::bad_input("{}: unknown word '{}'; write name, name:slots or name slots=N", where, word);
  const auto slots = parse_slots(value);
  if (!slots) throw Error::bad_input("{}: {}={} is not a whole number from 1 to {}", where, key, value, kMostSlots);
  if (is_slots) host.slots = host.most = *slots;
}

int sum(const std::vector<Host>& hosts, int Host::*member) {
  int total = 0;
  for (const Host& host : hosts) total += host.*member;
  return total;
}

// Ranks of each host when they are spread as evenly as can be, the first hosts having one more.
std::vector<int> spread_evenly(int ranks, std::size_t hosts) {
  const int each = ranks / static_cast<int>(hosts), left = ranks % static_cast<int>(hosts);
  std::vector<int> counts(hosts, each);
  for (int i = 0; i < left; ++i) ++counts[static_cast<std::size_t>(i)];
  return counts;
}

bool fits(const std::vector<int>& counts, const std::vector<Host>& hosts) {
  for (std::size_t i = 0; i < hosts.size(); ++i)
    if (counts[i] > hosts[i].most) return false;
  return true;
}

std::vector<int> fill_in_order(int ranks, const std::vector<Host>& hosts) {
  std::vector<int> counts;
  for (const Host& host : hosts) {
    counts.push_back(std::min(ranks, host.slots));
    ranks -= counts.back();
  }
  return counts;
}

Error too_few_slots(int ranks, int slots, const std::vector<Host>& hosts) {
  return Error::bad_input(
      "{} ranks are more than the {} of {}: list more hosts or slots, or add --oversubscribe to let ranks take turns",
      ranks, counted(static_cast<std::size_t>(slots), "slot"),
      hosts.size() == 1 ? hosts.front().name : counted(hosts.size(), "host"));
}

}  // namespace

void add_slots(std::vector<Host>& hosts, const std::string& name, int slots) {
  const auto known = std::ranges::find(hosts, name, &Host::name);
  if (known == hosts.end()) {
    hosts.push_back({.name = name, .slots = slots, .most = slots});
    return;
  }
  known->slots += slots;
  known->most += slots;
}

std::vector<Host> parse_hosts(std::string_view text, std::string_view flag) {
  std::vector<Host> hosts;
  const std::string where = fmt::format("{} {}", flag, text);
  for (const auto word : split(text, ',')) {
    const Host host = parse_host(trim(word), where);
    add_slots(hosts, host.name, host.slots);
  }
  return hosts;
}

std::vector<Host> parse_hostfile(std::string_view text, const std::string& file) {
  std::vector<Host> hosts;
  int number = 0;
  for (const auto line : split(text, '\n')) {
    const std::string where = fmt::format("{}:{}", file, ++number);
    const auto words = words_of(line);
    if (words.empty()) continue;
    Host host = parse_host(words.front(), where);
    for (std::size_t i = 1; i < words.size(); ++i) read_attribute(host, words[i], where);
    add_slots(hosts, host.name, host.slots);
  }
  if (hosts.empty()) throw Error::bad_input("{}: the file lists no hosts", file);
  return hosts;
}

Placement place_ranks(std::vector<Host> hosts, const RankCount& count) {
  if (count.per_host > 0)
    for (Host& host : hosts) host.slots = count.per_host, host.most = std::max(host.most, count.per_host);
  const int slots = sum(hosts, &Host::slots);
  Placement placement{.hosts = {}, .ranks = count.ranks > 0 ? count.ranks : slots};
  std::vector<int> counts = fill_in_order(placement.ranks, hosts);
  if (placement.ranks > slots) {
    counts = spread_evenly(placement.ranks, hosts.size());
    placement.oversubscribed = !fits(counts, hosts);
    if (placement.oversubscribed && !count.oversubscribe) throw too_few_slots(placement.ranks, slots, hosts);
    if (placement.oversubscribed)
      placement.warnings.push_back(fmt::format("{} ranks share {}: they take turns", placement.ranks,
                                               counted(static_cast<std::size_t>(slots), "slot")));
  }
  for (std::size_t i = 0; i < hosts.size(); ++i)
    if (counts[i] > 0) placement.hosts.push_back({hosts[i].name, counts[i]});
  return placement;
}

bool is_this_host(std::string_view name, std::string_view this_host) {
  if (name == "localhost" || name == "127.0.0.1" || name == this_host) return true;
  if (parse_number<int>(split(name, '.').front())) return false;  // an address: its first number says nothing
  const bool one_is_short = name.find('.') == std::string_view::npos || this_host.find('.') == std::string_view::npos;
  return one_is_short && split(name, '.').front() == split(this_host, '.').front();
}

bool all_on_this_host(const Placement& placement, std::string_view this_host) {
  return std::ranges::all_of(placement.hosts,
                             [&](const HostShare& host) { return is_this_host(host.name, this_host); });
}

std::string format_layout(const std::vector<int>& counts) {
  std::string text;
  for (std::size_t i = 0; i < counts.size();) {
    std::size_t end = i;
    while (end < counts.size() && counts[end] == counts[i]) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(counts[i]);
    if (end - i > 1) text += fmt::format("(x{})", end - i);
    i = end;
  }
  return text;
}

std::vector<int> parse_layout(std::string_view text, std::string_view origin) {
  std::vector<int> counts;
  for (const auto piece : split(text, ',')) {
    const auto bracket = piece.find("(x");
    const auto count = parse_slots(piece.substr(0, bracket));
    std::optional<int> times = 1;
    if (bracket != std::string_view::npos)
      times = piece.ends_with(')') ? parse_slots(piece.substr(bracket + 2, piece.size() - bracket - 3)) : std::nullopt;
    if (!count || !times) throw Error::bad_input("{}: '{}' is not a list such as 4(x2),1", origin, text);
    counts.insert(counts.end(), static_cast<std::size_t>(*times), *count);
  }
  return counts;
}

std::vector<int> layout_of(const Placement& placement) {
  std::vector<int> counts;
  for (const HostShare& host : placement.hosts) counts.push_back(host.ranks);
  return counts;
}

}  // namespace ronde::launch
