#include <algorithm>
#include <array>
#include <string_view>

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/report/rules/entry.h"
#include "ronde/report/rules/input_waits.h"
#include "ronde/report/run/speed.h"

// A stage of the input limits it, or none is known to.
namespace ronde::report::rules {
namespace {

// Words of the advice that depend on the stage.
struct Remedy {
  std::string title = {}, change = {}, setting = {};
};

// Whether the data is in files that `ronde data pack` reads.
bool can_be_packed(const std::string& data) {
  constexpr auto kPackable = std::to_array<std::string_view>({"images", "tar", "tfrecord", "lmdb"});
  return std::ranges::find(kPackable, data) != kPackable.end();
}

bool is_packed(const Evidence& evidence) {
  return evidence.facts.data == "pack";
}

Remedy for_reading(const Evidence& evidence) {
  if (!setting(evidence.facts, "data.cache"))
    return {.title = "Reading limits the input",
            .change =
                "Cache the samples in memory shared by the ranks of a node: from the second epoch on they are read "
                "from there (use a folder on a local disk if memory is short).",
            .setting = "data.cache=ram"};
  const char* smaller = is_packed(evidence) ? "" : "; or make them smaller: 'ronde data pack'";
  return {.title = "Reading limits the input",
          .change = fmt::format("Copy the files to a disk of the node before training: 'ronde run --stage {}'{}.",
                                path_of(evidence), smaller)};
}

Remedy for_preparing(const Evidence& evidence) {
  const std::string& stage = evidence.input->limit;
  const JobFacts& facts = evidence.facts;
  Remedy remedy{.title = fmt::format("'{}' limits the input", stage)};
  const int cores = facts.cores / ranks_a_node(evidence.run, evidence.facts);  // for a rank
  const auto limit = parse_number<int>(setting(evidence.facts, "data.threads").value_or("0")).value_or(0);
  if (limit > 0 && limit < cores) {
    remedy.change =
        fmt::format("Prepare samples with more threads: data.threads is {}, but a rank has {} cores.", limit, cores);
    remedy.setting = fmt::format("data.threads={}", cores);
  } else if (stage == "decode" && is_packed(evidence)) {
    remedy.change =
        "All cores of a rank may decode already, and the samples are packed: smaller pictures in the pack or fewer "
        "augmentations cost less.";
  } else if (stage == "decode" && can_be_packed(facts.data)) {
    remedy.change = fmt::format(
        "All cores of a rank may already decode. Preprocess once, offline: 'ronde data pack {} PACK --shuffle "
        "--short-side 256', then --data-name pack --data-path PACK; fewer augmentations help too.",
        path_of(evidence));
    remedy.setting = "data.name=pack";
  } else {
    remedy.change = fmt::format(
        "All cores of a rank may already work on '{}': make it cheaper, do it offline, or put a cache behind it if it "
        "is not random.",
        stage);
  }
  return remedy;
}

Remedy remedy_for(const Evidence& evidence) {
  const std::string limit = evidence.input ? evidence.input->limit : std::string();
  if (limit == kReading) return for_reading(evidence);
  if (!limit.empty()) return for_preparing(evidence);
  Remedy remedy{.title = "Training waits for its input"};
  if (setting(evidence.facts, "data.prefetch").value_or("0") != "0") {
    remedy.change =
        "No stage of the input is busy all the time, so batches arrive in bursts: let Ronde measure how many batches "
        "to prepare ahead.";
    remedy.setting = "data.prefetch=0";
  } else {
    remedy.change =
        "The limiting stage of the input is not known: look at the waits in the timeline, and at what the input does "
        "during them.";
  }
  return remedy;
}

std::optional<Advice> find(const Evidence& evidence) {
  std::optional<Advice> advice = waits_for_input(evidence);
  if (!advice) return {};
  Remedy remedy = remedy_for(evidence);
  advice->title = std::move(remedy.title);
  advice->change = std::move(remedy.change);
  advice->setting = std::move(remedy.setting);
  return advice;
}

}  // namespace

RuleEntry input_entry() {
  return {.name = "input", .group = RuleGroup::Input, .find = find};
}

}  // namespace ronde::report::rules
