#include "ronde/train/gpu/step_graph.h"

#include "ronde/base/error.h"

// Built where libtorch has no CUDA.
namespace ronde::train {

struct StepGraph::Impl {};

StepGraph::StepGraph() = default;
StepGraph::~StepGraph() = default;
StepGraph::StepGraph(StepGraph&&) noexcept = default;
StepGraph& StepGraph::operator=(StepGraph&&) noexcept = default;

std::string StepGraph::why_none() {
  return "this build's libtorch has no CUDA";
}

void StepGraph::record(const std::function<void()>&, const StepGraph*) {
  throw Error(Error::Kind::System, why_none());
}

void StepGraph::launch() {
  throw Error(Error::Kind::Bug, "a graph was launched before it was recorded");
}

}  // namespace ronde::train
