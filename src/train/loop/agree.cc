#include "ronde/train/loop/agree.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "ronde/base/error.h"
#include "ronde/base/settings/settings.h"
#include "ronde/base/text/text.h"
#include "ronde/parallel/collectives.h"

namespace ronde::train {
namespace {

constexpr char kBetween = '\x1f';  // no setting has it
constexpr std::size_t kMostNamed = 4;

std::string ranks_text(const std::vector<int>& ranks) {
  std::vector<std::string> numbers;
  for (const int rank : ranks) numbers.push_back(std::to_string(rank));
  if (numbers.size() > kMostNamed) {
    const std::size_t more = numbers.size() - kMostNamed;
    numbers.resize(kMostNamed);
    return fmt::format("ranks {} and {} more", join(numbers, ", "), more);
  }
  return (ranks.size() == 1 ? "rank " : "ranks ") + join(numbers, ", ");
}

}  // namespace

std::string differing_settings(const std::vector<std::vector<std::string>>& by_rank) {
  std::vector<std::string> differences;
  for (std::size_t i = 0; i < kSettings.size(); ++i) {
    std::map<std::string, std::vector<int>> ranks_of;
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
      ranks_of[by_rank[rank][i]].push_back(static_cast<int>(rank));
    if (ranks_of.size() == 1) continue;
    std::vector<std::string> values;
    for (const auto& [value, ranks] : ranks_of) values.push_back(fmt::format("'{}' on {}", value, ranks_text(ranks)));
    differences.push_back(fmt::format("{} is {}", kSettings[i].key, join(values, " and ")));
  }
  return join(differences, "; ");
}

void require_same_settings(const Settings& settings, const comm::Group& group) {
  if (group.size() == 1) return;
  std::vector<std::string> mine;
  for (const auto& entry : settings.entries()) mine.push_back(entry.text);
  std::vector<std::vector<std::string>> by_rank;
  for (const std::string& text : parallel::gather_texts(join(mine, std::string(1, kBetween)), group)) {
    by_rank.emplace_back();
    for (const auto piece : split(text, kBetween)) by_rank.back().emplace_back(piece);
    if (by_rank.back().size() != kSettings.size())
      throw Error::bad_input("rank {} runs a different version of Ronde from this rank", by_rank.size() - 1);
  }
  if (const std::string differences = differing_settings(by_rank); !differences.empty())
    throw Error::bad_input("settings differ between ranks: {}", differences);
}

bool on_any_rank(bool mine, const std::string& name, const comm::Group& group) {
  if (group.size() == 1) return mine;
  std::array flag = {mine ? 1.0 : 0.0};
  group.run({.name = name, .input = comm::buffer_of(std::span<double>(flag)), .op = comm::ReduceOp::Max});
  return flag[0] > 0;
}

std::string objection(const std::string& mine, const std::string& name, const comm::Group& group) {
  if (!on_any_rank(!mine.empty(), name, group)) return {};
  const std::vector<std::string> all = parallel::gather_texts(mine, group);
  if (!mine.empty()) return mine;
  const auto first = std::ranges::find_if(all, [](const std::string& text) { return !text.empty(); });
  return fmt::format("rank {}: {}", first - all.begin(), *first);
}

}  // namespace ronde::train
