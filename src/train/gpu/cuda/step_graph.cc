#include "ronde/train/gpu/step_graph.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

#include "ronde/base/error.h"

namespace ronde::train {

struct StepGraph::Impl {
  explicit Impl(c10::MempoolId_t memory) : pool(memory) {}

  const c10::MempoolId_t pool;
  at::cuda::CUDAGraph graph;
};

StepGraph::StepGraph() = default;
StepGraph::~StepGraph() = default;
StepGraph::StepGraph(StepGraph&&) noexcept = default;
StepGraph& StepGraph::operator=(StepGraph&&) noexcept = default;

std::string StepGraph::why_none() {
  return {};
}

namespace {

// A recording that was spoilt ends before torch has told its allocator.
void tell_allocator(c10::DeviceIndex device, c10::MempoolId_t pool) {
  try {
    c10::cuda::CUDACachingAllocator::endAllocateToPool(device, pool);
    c10::cuda::CUDACachingAllocator::releasePool(device, pool);
  } catch (const std::exception&) {  // it knows already
  }
  (void)cudaGetLastError();  // what spoilt it is told by us, and nobody else is to trip over it
}

}  // namespace

// Only this thread is forbidden what a recording cannot bear: others, such as the engine's, go on with their work.
void StepGraph::record(const std::function<void()>& work, const StepGraph* beside) {
  const auto device = c10::cuda::current_device();
  const auto pool = beside && beside->impl_ ? beside->impl_->pool : at::cuda::graph_pool_handle();
  auto fresh = std::make_unique<Impl>(pool);
  std::string failure;
  bool began = false;
  try {
    fresh->graph.capture_begin(pool, cudaStreamCaptureModeThreadLocal);
    began = true;
    work();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (began) try {
      fresh->graph.capture_end();
    } catch (const std::exception& error) {
      if (failure.empty()) failure = error.what();
      tell_allocator(device, pool);
    }
  if (failure.empty()) {
    impl_ = std::move(fresh);
    return;
  }
  throw Error(Error::Kind::System, failure.substr(0, failure.find('\n')));
}

void StepGraph::launch() {
  impl_->graph.replay();
}

}  // namespace ronde::train
