#include "ronde/report/rules/python_program.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/report/rules.h"
#include "ronde/report/rules/entry.h"
#include "ronde/report/run/speed.h"

namespace ronde::report::rules {
namespace {

int number_of(const JobFacts& facts, const char* key) {
  return parse_number<int>(setting(facts, key).value_or("0")).value_or(0);
}

int cores_of_rank(const Evidence& evidence) {
  return evidence.facts.cores / ranks_a_node(evidence.run, evidence.facts);
}

bool on_gpu(const JobFacts& facts) {
  return !facts.device.empty() && !facts.device.starts_with("cpu");
}

void say_input(const Evidence& evidence, Advice& advice) {
  const JobFacts& facts = evidence.facts;
  const int workers = number_of(facts, "DataLoader.num_workers"), cores = cores_of_rank(evidence);
  advice.title = "Training waits for its input";
  advice.setting.clear();
  if (!setting(facts, "DataLoader.num_workers")) {
    advice.change = "Load batches ahead of the training step, for example with torch's DataLoader and num_workers.";
  } else if (workers == 0) {
    advice.change =
        "DataLoader has num_workers=0: the program makes each batch itself and computes nothing meanwhile. Let worker "
        "processes make them, and keep these from one epoch to the next (persistent_workers=True).";
    advice.setting = fmt::format("num_workers={}", std::max(1, cores));
  } else if (workers < cores) {
    advice.change = fmt::format(
        "Use more worker processes in DataLoader: it has num_workers={}, but a rank has {} cores.", workers, cores);
    advice.setting = fmt::format("num_workers={}", cores);
  } else if (on_gpu(facts) && setting(facts, "DataLoader.pin_memory").value_or("True") == "False") {
    advice.change = "Let DataLoader put batches into pinned memory, from which copies to the GPU are faster.";
    advice.setting = "pin_memory=True";
  } else if (setting(facts, "DataLoader.persistent_workers").value_or("True") == "False") {
    advice.change =
        "All cores of a rank may already make batches. Keep the worker processes from one epoch to the next, and make "
        "a "
        "sample cheaper: decode and resize once, offline.";
    advice.setting = "persistent_workers=True";
  } else {
    advice.change =
        "All cores of a rank may already make batches: make a sample cheaper (decode and resize once, offline), or "
        "keep "
        "decoded samples in memory.";
  }
}

void say_communication(const Evidence& evidence, Advice& advice) {
  const bool compress = advice.setting.starts_with("train.compression");
  const bool more_batch = advice.setting.starts_with("train.batch");
  if (setting(evidence.facts, "parallel").value_or("") == "DistributedDataParallel") {
    const int mebibytes = std::max(25, number_of(evidence.facts, "DistributedDataParallel.bucket_cap_mb"));
    advice.change = compress ? "Send gradients with half the bytes: give the model torch's bf16_compress_hook. A "
                               "larger batch sends less per sample."
                             : "Send gradients in fewer and larger buckets; a larger batch sends less per sample.";
    advice.setting =
        compress ? "register_comm_hook(None, bf16_compress_hook)" : fmt::format("bucket_cap_mb={}", 4 * mebibytes);
  } else if (setting(evidence.facts, "parallel")) {
    // ronde.torch reads our settings from the environment.
    const std::size_t equals = advice.setting.find('=');
    if (compress) {
      advice.change = "Send gradients with half the bytes. A larger batch sends less per sample.";
      advice.setting = "DistributedOptimizer(compression=hvd.Compression.fp16)";
      return;
    }
    if (more_batch || advice.setting.starts_with("comm.autotune"))
      advice.change =
          "Use fewer and larger exchanges: let autotune search for bucket sizes (RONDE_COMM_AUTOTUNE=true). A larger "
          "batch_size sends less per sample; adapt the learning rate.";
    if (!more_batch && equals != std::string::npos) {
      std::string name = advice.setting.substr(0, equals);
      std::ranges::transform(name, name.begin(), [](char c) { return c == '.' ? '_' : c; });
      std::ranges::transform(name, name.begin(), [](char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; });
      advice.setting = fmt::format("RONDE_{}{}", name, advice.setting.substr(equals));
    }
  } else {
    advice.change = "Exchange gradients less often, in larger pieces; a larger batch sends less per sample.";
    advice.setting.clear();
  }
}

// "train.batch=128" is the batch of all ranks, batch_size that of one.
void say_batch(const Evidence& evidence, Advice& advice) {
  const auto ranks = std::max<std::int64_t>(1, static_cast<std::int64_t>(evidence.run.ranks.size()));
  const auto all = parse_number<std::int64_t>(advice.setting.substr(advice.setting.find('=') + 1)).value_or(0);
  advice.setting = all >= ranks ? fmt::format("batch_size={}", all / ranks) : "";
}

void say_computation(const Evidence& evidence, Advice& advice) {
  const int threads = evidence.facts.threads, cores = cores_of_rank(evidence);
  advice.change =
      "Give each layer more work per call: a larger batch_size (the learning rate goes with it), or fewer "
      "ranks that share these cores.";
  if (on_gpu(evidence.facts) || threads <= 0 || threads >= cores) return;
  advice.change = fmt::format("PyTorch computes with {}, but a rank has {} cores. {}",
                              counted(static_cast<std::size_t>(threads), "thread"), cores, advice.change);
  advice.setting = fmt::format("torch.set_num_threads({})", cores);
}

void say_checkpoint(Advice& advice) {
  advice.change =
      "Save less often, let every rank save a share (torch.distributed.checkpoint), or write in the "
      "background (torch.distributed.checkpoint.async_save).";
  advice.setting.clear();
}

}  // namespace

bool is_python_program(const JobFacts& facts) {
  return setting(facts, "program").has_value();
}

void say_for_python(const Evidence& evidence, Advice& advice) {
  const RuleGroup group = find_rule(advice.rule).group;
  if (group == RuleGroup::Input) {
    say_input(evidence, advice);
  } else if (group == RuleGroup::Communication && !advice.setting.empty()) {
    say_communication(evidence, advice);
  } else if (advice.rule == "precision") {
    advice.change = "Compute the forward pass in bf16; weights and optimizer state stay in f32.";
    advice.setting =
        fmt::format("torch.autocast(\"{}\", dtype=torch.bfloat16)", on_gpu(evidence.facts) ? "cuda" : "cpu");
  } else if (advice.rule == "batch") {
    advice.change = "Train with a larger batch_size; adapt the learning rate and check the accuracy.";
  } else if (advice.rule == "computation") {
    say_computation(evidence, advice);
  } else if (advice.rule == "checkpoint") {
    say_checkpoint(advice);
  } else if (advice.rule == "evaluation") {
    advice.change =
        "Let every rank evaluate its share of the samples (a DistributedSampler for these too) and add up "
        "the results (all_reduce).";
  }
  if (advice.setting.starts_with("train.batch=")) say_batch(evidence, advice);
}

}  // namespace ronde::report::rules
