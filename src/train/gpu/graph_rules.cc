#include "ronde/train/gpu/graph_rules.h"

#include "ronde/base/text/text.h"
#include "ronde/train/optim/optimizer_names.h"

namespace ronde::train {
namespace {

// Only what is put into a stream can be recorded: NCCL's collectives, without the votes before them.
std::string why_no_exchange(const GraphFacts& facts) {
  if (facts.synced_norms) return "model.norm = sync communicates inside the network";
  if (facts.reduce == "adasum" || facts.compression != "none")
    return fmt::format("train.reduce = {} with train.compression = {} needs the host to change gradients", facts.reduce,
                       facts.compression);
  if (!facts.why_not_nccl.empty()) return "only NCCL's exchange of gradients can be recorded: " + facts.why_not_nccl;
  return {};
}

}  // namespace

std::string why_no_graph(const GraphFacts& facts) {
  if (facts.setting == "off") return "train.graph is off";
  if (!facts.on_gpu) return "training runs on the CPU";
  if (!facts.why_no_graphs.empty()) return facts.why_no_graphs;
  if (!facts.fused)
    return fmt::format(
        "optimizer.name = {} reads the learning rate from the host in each step ({} do not, unless optimizer.fused is "
        "off)",
        facts.optimizer, join(fused_optimizers(), ", "));
  if (facts.f16_on_host) return "with this optimizer the host checks for overflows of f16";
  if (facts.traced_modules) return "trace.modules and trace.operators observe each layer as it runs";
  if (facts.recompute) return "model.recompute reads the random number state in each pass";
  if (facts.ranks > 1 && !facts.local) return why_no_exchange(facts);
  return {};
}

StepAction next_action(const KindState& kind, bool other_recorded, bool fits) {
  constexpr int kWarmUps = 3;
  if (kind.refused) return StepAction::Run;
  if (kind.recorded) return fits ? StepAction::Launch : StepAction::Run;
  if (other_recorded && !fits) return StepAction::Run;  // recorded steps have one place for their batches
  const int needed = other_recorded ? 1 : kWarmUps;
  const int runs = fits ? kind.runs : 0;
  if (runs >= needed) return StepAction::Record;
  return runs == needed - 1 ? StepAction::WarmUp : StepAction::Run;
}

}  // namespace ronde::train
