#include "ronde/train/evaluate/kept_results.h"

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"

namespace ronde::train {
namespace {

constexpr std::string_view kLower = "/lower";

}  // namespace

std::string kept_text(const Results& results) {
  if (results.measures.empty()) return {};
  const Measure& main = results.measures.front();
  return fmt::format("{}/{}/{}/{}/{}{}", main.key, main.value, main.percent ? "percent" : "number", results.samples,
                     main.name, main.lower_is_better ? kLower : "");
}

std::optional<Results> parse_kept_results(std::string_view text) {
  const auto pieces = split(text, '/');
  const bool lower = text.ends_with(kLower) || pieces[0] == "mse";  // older versions left that out
  if (pieces.size() != (text.ends_with(kLower) ? 6 : 5) || pieces[0].empty()) return {};
  const auto value = parse_number<double>(pieces[1]);
  const auto samples = parse_number<std::int64_t>(pieces[3]);
  if (!value || !samples) return {};
  return Results{.samples = *samples,
                 .measures = {{.key = std::string(pieces[0]),
                               .name = std::string(pieces[4]),
                               .value = *value,
                               .percent = pieces[2] == "percent",
                               .lower_is_better = lower}}};
}

}  // namespace ronde::train
