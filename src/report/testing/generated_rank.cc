#include "ronde/report/testing/generated_rank.h"

#include <algorithm>
#include <cmath>

#include "ronde/base/text/format.h"

namespace ronde::report::testing {
namespace {

using trace::ReadEvent;
using trace::ReadTrack;

constexpr std::int64_t kBooted = 1'000'000'000'000;  // CLOCK_MONOTONIC of the first host when the run begins
constexpr std::uint32_t kCounterRows = 1u << 31;     // as the recorder numbers them
constexpr std::int64_t kFirstTid = 100'000;

}  // namespace

GeneratedRank::GeneratedRank(const std::filesystem::path& folder, const Identity& identity, const Clock& clock)
    : rank_(identity.rank),
      clock_(clock),
      file_(folder / fmt::format("trace-{:05}.perfetto-trace", identity.rank)),
      writer_(file_) {
  using Kind = ReadTrack::Kind;
  const std::int64_t tid = kFirstTid + 100 * rank_;
  const auto row = [&](Row number, Kind kind, std::string name) {
    writer_.track({.uuid = uuid(number),
                   .rank = rank_,
                   .kind = kind,
                   .name = std::move(name),
                   .label = kind == Kind::Process ? fmt::format("pid {}", tid) : "",
                   .parent = kind == Kind::Process ? 0 : uuid(Row::Process),
                   .tid = kind == Kind::Thread ? tid + static_cast<std::int64_t>(number) : 0});
  };
  row(Row::Process, Kind::Process, fmt::format("rank {} ({})", rank_, identity.host));
  writer_.clocks({.rank = rank_, .local = local(0), .trace = shown(0)});
  row(Row::Steps, Kind::Other, "steps");
  row(Row::Agree, Kind::Other, "agree: world");
  row(Row::Move, Kind::Other, "move: world");
  row(Row::Training, Kind::Thread, "training");
  row(Row::Decode, Kind::Thread, "input decode");
  metadata("rank", std::to_string(rank_), 0);
  metadata("world_size", std::to_string(identity.world_size), 0);
  metadata("host", identity.host, 0);
}

std::int64_t GeneratedRank::local(std::int64_t at) const {
  return kBooted + at + clock_.offset + std::llround(static_cast<double>(at) * clock_.drift);
}

std::int64_t GeneratedRank::shown(std::int64_t at) const {
  return local(at) - kBooted + clock_.began_ns;
}

void GeneratedRank::begin(Row row, std::string_view name, std::int64_t at, std::string_view category,
                          std::initializer_list<trace::ReadArg> args) {
  writer_.event({.type = ReadEvent::Type::Begin,
                 .rank = rank_,
                 .track = uuid(row),
                 .time = shown(at),
                 .name = name,
                 .category = category,
                 .args = {args.begin(), args.size()}});
}

void GeneratedRank::end(Row row, std::int64_t at) {
  writer_.event({.type = ReadEvent::Type::End, .rank = rank_, .track = uuid(row), .time = shown(at)});
}

void GeneratedRank::counter(std::string_view name, std::int64_t at, double value) {
  auto known = std::ranges::find(counters_, name);
  const std::uint64_t row = uuid(kCounterRows + 1 + static_cast<std::uint32_t>(known - counters_.begin()));
  if (known == counters_.end()) {
    counters_.emplace_back(name);
    writer_.track({.uuid = row,
                   .rank = rank_,
                   .kind = ReadTrack::Kind::Counter,
                   .name = std::string(name),
                   .parent = uuid(Row::Process)});
  }
  writer_.event(
      {.type = ReadEvent::Type::Counter, .rank = rank_, .track = row, .time = shown(at), .name = {}, .value = value});
}

void GeneratedRank::instant(std::string_view name, std::int64_t at, std::initializer_list<trace::ReadArg> args) {
  writer_.event({.type = ReadEvent::Type::Instant,
                 .rank = rank_,
                 .track = uuid(Row::Process),
                 .time = shown(at),
                 .name = name,
                 .args = {args.begin(), args.size()}});
}

void GeneratedRank::metadata(std::string_view key, std::string_view value, std::int64_t at) {
  instant("metadata", at, {{.key = key, .value = value}});
}

void GeneratedRank::add_device() {
  writer_.track({.uuid = uuid(Row::Device),
                 .rank = rank_,
                 .kind = ReadTrack::Kind::Other,
                 .name = "gpu 0 stream 7",
                 .parent = uuid(Row::Process)});
}

void GeneratedRank::measure_clock(std::int64_t at) {
  const std::int64_t reference = kBooted + at;
  writer_.clocks({.rank = rank_, .local = local(at), .trace = shown(at), .reference = reference});
  instant("clock offset", at, {{"local_ns", local(at)}, {"offset_ns", reference - local(at)}});
}

}  // namespace ronde::report::testing
