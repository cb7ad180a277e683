#include "ronde/base/text/format.h"
#include "ronde/base/text/units.h"
#include "ronde/report/rules/entry.h"
#include "ronde/report/rules/input_waits.h"

// Reading limits the input, a file for each sample.
namespace ronde::report::rules {
namespace {

constexpr double kSmallItem = 256 << 10;  // bytes: opening such a file costs more than reading it

std::optional<Advice> find(const Evidence& evidence) {
  const InputStage* stage = evidence.input ? evidence.input->limiting() : nullptr;
  if (!stage || stage->name != kReading || stage->item_bytes <= 0 || stage->item_bytes >= kSmallItem) return {};
  if (evidence.facts.data != "images" && evidence.facts.data != "bigearthnet") return {};
  std::optional<Advice> advice = waits_for_input(evidence);
  if (!advice) return {};
  advice->title = "Too many small files";
  advice->change = fmt::format(
      "Replace many files of {} by a few large ones: 'ronde data pack {} PACK --shuffle', "
      "then --data-name pack --data-path PACK.",
      format_bytes(static_cast<std::uint64_t>(stage->item_bytes)), path_of(evidence));
  advice->setting = "data.name=pack";
  return advice;
}

}  // namespace

RuleEntry small_files_entry() {
  return {.name = "small_files", .group = RuleGroup::Input, .find = find, .replaces = {"input"}};
}

}  // namespace ronde::report::rules
