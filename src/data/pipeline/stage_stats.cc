#include "ronde/data/pipeline/stage_stats.h"

#include <algorithm>

#include "ronde/base/text/format.h"
#include "ronde/base/text/table.h"
#include "ronde/base/text/units.h"

namespace ronde::data {
namespace {

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

std::string share(std::chrono::nanoseconds part, double whole) {
  return whole > 0 ? fmt::format("{:.0f} %", 100 * seconds(part) / whole) : "";
}

}  // namespace

double StageStats::busy_share() const {
  const double all = seconds(busy + input + room);
  return all > 0 ? seconds(busy) / all : 0;
}

std::vector<StageStats> difference(const std::vector<StageStats>& now, const std::vector<StageStats>& before) {
  std::vector<StageStats> lately = now;
  for (std::size_t i = 0; i < std::min(now.size(), before.size()); ++i) {
    lately[i].busy -= before[i].busy;
    lately[i].input -= before[i].input;
    lately[i].room -= before[i].room;
    lately[i].runs -= before[i].runs;
    lately[i].samples -= before[i].samples;
    lately[i].bytes -= before[i].bytes;
  }
  return lately;
}

std::string limiting_stage(const std::vector<StageStats>& stages, double least_busy) {
  const auto busiest = std::ranges::max_element(stages, {}, &StageStats::busy_share);
  return busiest == stages.end() || busiest->busy_share() < least_busy ? "" : busiest->name;
}

std::string to_text(const std::vector<StageStats>& stages, std::chrono::nanoseconds elapsed) {
  Table table({{"stage"},
               {"threads", Align::Right},
               {"busy", Align::Right},
               {"waits for input", Align::Right},
               {"waits for room", Align::Right},
               {"samples/s", Align::Right},
               {"bytes/s", Align::Right}});
  for (const StageStats& stage : stages) {
    const double all = seconds(stage.busy + stage.input + stage.room);
    const double time = seconds(elapsed);
    table.add({stage.name, std::to_string(stage.threads), share(stage.busy, all), share(stage.input, all),
               share(stage.room, all), time > 0 ? fmt::format("{:.0f}", static_cast<double>(stage.samples) / time) : "",
               time > 0 ? format_bytes(static_cast<std::uint64_t>(static_cast<double>(stage.bytes) / time)) : ""});
  }
  return table.text();
}

}  // namespace ronde::data
