#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/report/rules.h"
#include "ronde/report/run/numbers.h"
#include "ronde/report/run/speed.h"

// The training waits for samples.
namespace ronde::report::rules {
namespace {

constexpr double kSmallItem = 256 << 10;  // bytes: opening such a file costs more than reading it
constexpr std::string_view kReading = "read";

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

// Words of the advice that depend on the stage.
struct Remedy {
  std::string rule = "input", title = {}, change = {}, setting = {};
};

std::string path_of(const Evidence& evidence) {
  return setting(evidence.facts, "data.path").value_or("FOLDER");
}

bool is_packed(const Evidence& evidence) {
  return evidence.facts.data == "pack";
}

Remedy for_reading(const Evidence& evidence) {
  const InputEvidence& input = *evidence.input;
  const bool file_each = is_one_of(evidence.facts.data, {"images", "bigearthnet"});
  if (file_each && input.item_bytes > 0 && input.item_bytes < kSmallItem)
    return {.rule = "small_files",
            .title = "Too many small files",
            .change = fmt::format("Replace many files of {} by a few large ones: 'ronde data pack {} PACK --shuffle', "
                                  "then --data-name pack --data-path PACK.",
                                  format_bytes(static_cast<std::uint64_t>(input.item_bytes)), path_of(evidence)),
            .setting = "data.name=pack"};
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
  } else if (stage == "decode" && is_one_of(facts.data, {"images", "tar", "tfrecord", "lmdb"})) {
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

}  // namespace

std::vector<Advice> of_input(const Evidence& evidence) {
  const Efficiency& efficiency = evidence.efficiency;
  if (efficiency.seconds <= 0) return {};
  Advice advice{.gain = 1 - efficiency.no_input_seconds / efficiency.seconds};
  if (advice.gain < kLeastGain) return {};
  double most = -1;
  for (std::size_t i = 0; i < evidence.run.ranks.size(); ++i) {
    const Ranges waits = waits_of(evidence.run, evidence.run.ranks[i], evidence.window.ranks[i]).input;
    const double waited = seconds(length(waits));
    if (const auto wait = longest(waits); wait && waited > most) {
      most = waited;
      advice.at = place_of(evidence, i, *wait);
      advice.evidence =
          fmt::format("Rank {} waits {} of {} for input ({}). With free input the run would take {}.",
                      evidence.run.ranks[i].rank, seconds_text(waited), seconds_text(efficiency.seconds),
                      percent_text(waited / efficiency.seconds), seconds_text(efficiency.no_input_seconds));
    }
  }
  advice.because = "training waits for its input";
  if (evidence.input && !evidence.input->limit.empty()) {
    const std::string threads =
        evidence.input->threads > 0
            ? fmt::format(" ({} per rank)", counted(static_cast<std::size_t>(evidence.input->threads), "thread"))
            : std::string();
    advice.evidence += fmt::format(" The other stages wait for '{}'{}.", evidence.input->limit, threads);
    advice.because += fmt::format(", which is limited by '{}'", evidence.input->limit);
  }
  Remedy remedy = remedy_for(evidence);
  advice.rule = std::move(remedy.rule);
  advice.title = std::move(remedy.title);
  advice.change = std::move(remedy.change);
  advice.setting = std::move(remedy.setting);
  return {advice};
}

}  // namespace ronde::report::rules
