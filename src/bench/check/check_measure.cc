#include "ronde/bench/check/check_measure.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "ronde/base/system/clock.h"

namespace ronde::bench::detail {
namespace {

using comm::buffer_of;

constexpr int kMostRounds = 24;          // of pairs: with more nodes than that, each meets so many others
constexpr int kPings = 30;               // the best of them counts: the others waited for a processor
constexpr int kWarmUp = 5;               // until links are made and plans have settled
constexpr double kBandwidthTime = 0.05;  // seconds; long against what a link buffers
constexpr std::size_t kLeastBytes = std::size_t{1} << 20, kMostBytes = std::size_t{64} << 20;
constexpr double kNoTime = std::numeric_limits<double>::infinity();

double seconds_since(std::chrono::nanoseconds begin) {
  return std::chrono::duration<double>(monotonic_now() - begin).count();
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// One end of a pair of ranks that take turns.
class Partner {
 public:
  Partner(const comm::Group& world, int other, bool begins) : world_(world), other_(other), begins_(begins) {}

  // There and back.
  template <class T>
  void turn(std::vector<T>& values) const {
    begins_ ? send(values) : receive(values);
    begins_ ? receive(values) : send(values);
  }
  template <class T>
  void send(std::vector<T>& values) const {
    world_.send("", buffer_of(values), other_).wait();
  }
  template <class T>
  void receive(std::vector<T>& values) const {
    world_.receive("", buffer_of(values), other_).wait();
  }

 private:
  const comm::Group& world_;
  int other_;
  bool begins_;
};

template <class Turn>
double best_of(int times, Turn turn) {
  double best = kNoTime;
  for (int i = 0; i < times; ++i) {
    const auto begin = monotonic_now();
    turn();
    best = std::min(best, seconds_since(begin));
  }
  return best;
}

// Both ends measure; the one that begins knows.
LinkFigures measure_link(const Partner& partner, Pair pair) {
  std::vector<std::uint8_t> word(4);
  best_of(kWarmUp, [&] { partner.turn(word); });
  const double round_trip = best_of(kPings, [&] { partner.turn(word); });
  // First a small message, to learn how large one must be.
  std::vector<std::uint8_t> bytes(kLeastBytes);
  partner.turn(bytes);
  const double first = best_of(1, [&] { partner.turn(bytes); });
  const double wanted = static_cast<double>(kLeastBytes) * kBandwidthTime / (first / 2);
  std::vector<std::int64_t> size{
      static_cast<std::int64_t>(std::clamp(wanted, static_cast<double>(kLeastBytes), static_cast<double>(kMostBytes)))};
  partner.turn(size);  // the second sends back what it got
  bytes.resize(static_cast<std::size_t>(size[0]));
  const double there_and_back = best_of(2, [&] { partner.turn(bytes); });
  return {
      .pair = pair, .latency_s = round_trip / 2, .bytes_per_s = 2 * static_cast<double>(bytes.size()) / there_and_back};
}

// What each rank gives, one after the other. Not by a sum: sums are what is in question.
std::vector<double> all_of(const comm::Engine& engine, std::vector<double> mine) {
  const comm::Result all = engine.world().allgather("", buffer_of(mine)).wait();
  const auto* values = static_cast<const double*>(all.output.data);
  return {values, values + all.output.shape.elements()};
}

template <class T>
bool sum_is_right(const comm::Engine& engine, std::size_t count) {
  const auto value = [](std::size_t i, int rank) {
    return static_cast<T>((i % 61 + static_cast<std::size_t>(rank)) % 64);  // whole numbers: sums are exact
  };
  std::vector<T> values(count), sums(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = value(i, engine.rank());
    for (int rank = 0; rank < engine.size(); ++rank) sums[i] = static_cast<T>(sums[i] + value(i, rank));
  }
  engine.world().allreduce("", buffer_of(values)).wait();
  return values == sums;
}

// Who is asked tells its time as often as it is asked.
void tell_time(const Partner& partner) {
  std::vector<double> time(1);
  for (int ping = 0; ping < kWarmUp + kPings; ++ping) {
    partner.receive(time);
    time[0] = wall_seconds();
    partner.send(time);
  }
}

// How far the other's clock is ahead. The quickest answer is the one to believe: it was given half way between.
double ask_time(const Partner& partner) {
  std::vector<double> time(1);
  double shortest = kNoTime, ahead = 0.0;
  for (int ping = 0; ping < kWarmUp + kPings; ++ping) {
    const double asked = wall_seconds();
    partner.send(time);
    partner.receive(time);
    const double answered = wall_seconds();
    if (answered - asked >= shortest) continue;
    shortest = answered - asked;
    ahead = time[0] - (asked + answered) / 2;
  }
  return ahead;
}

}  // namespace

std::vector<int> try_allreduce(const comm::Engine& engine) {
  // All take part in each, whatever they have seen before.
  const std::array<bool, 4> right{sum_is_right<float>(engine, 1), sum_is_right<float>(engine, 100'003),
                                  sum_is_right<double>(engine, 1'001), sum_is_right<std::int64_t>(engine, 12'345)};
  const auto wrong = all_of(engine, {std::ranges::count(right, false) * 1.0});
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < wrong.size(); ++rank)
    if (wrong[rank] != 0.0) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

std::vector<double> measure_clocks(const comm::Engine& engine, const Nodes& nodes) {
  std::vector<double> ahead(nodes.ranks.size());
  const comm::Group world = engine.world();
  for (std::size_t node = 1; node < nodes.ranks.size(); ++node) {
    const int asked = nodes.ranks[node].front();
    if (engine.rank() == 0) ahead[node] = ask_time(Partner(world, asked, true));
    if (engine.rank() == asked) tell_time(Partner(world, 0, false));
  }
  world.broadcast("", buffer_of(ahead), 0).wait();
  return ahead;
}

std::vector<LinkFigures> measure_links(const comm::Engine& engine, const Nodes& nodes) {
  const comm::Group world = engine.world();
  const auto first_of = [&](int node) { return nodes.ranks[static_cast<std::size_t>(node)].front(); };
  std::vector<double> mine;
  for (const auto& round : rounds_of_pairs(static_cast<int>(nodes.ranks.size()), kMostRounds))
    for (const Pair& pair : round) {
      const int begins = first_of(pair.first), answers = first_of(pair.second);
      if (engine.rank() == answers) measure_link(Partner(world, begins, false), pair);
      if (engine.rank() != begins) continue;
      const LinkFigures link = measure_link(Partner(world, answers, true), pair);
      mine.insert(mine.end(), {pair.first * 1.0, pair.second * 1.0, link.latency_s, link.bytes_per_s});
    }
  const auto all = all_of(engine, std::move(mine));
  std::vector<LinkFigures> links;
  for (std::size_t i = 0; i < all.size(); i += 4)
    links.push_back({.pair = {static_cast<int>(all[i]), static_cast<int>(all[i + 1])},
                     .latency_s = all[i + 2],
                     .bytes_per_s = all[i + 3]});
  std::ranges::sort(links, {}, &LinkFigures::pair);
  return links;
}

std::vector<StartTimes> share_start(const comm::Engine& engine, const StartTimes& mine) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  const auto all = all_of(engine, {mine.launch.value_or(kUnknown), mine.load, mine.meet, mine.engine});
  std::vector<StartTimes> starts;
  for (std::size_t i = 0; i < all.size(); i += 4) {
    starts.push_back({.load = all[i + 1], .meet = all[i + 2], .engine = all[i + 3]});
    if (!std::isnan(all[i])) starts.back().launch = all[i];
  }
  return starts;
}

}  // namespace ronde::bench::detail
