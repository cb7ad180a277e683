#pragma once

#include <functional>

#include "ronde/comm/engine/engine_hooks.h"
#include "ronde/comm/thread_job.h"

namespace ronde::comm {
namespace detail {

// A job of threads whose engines have hooks.
class HookedJob : public ThreadJob {
 public:
  using ThreadJob::ThreadJob;
  // To be said before engine(rank).
  void set_hooks(int rank, EngineHooks hooks);
  void set_hooks(const EngineHooks& of_all);
};

}  // namespace detail

// As run_ranks() of thread_job.h, on engines that have these hooks.
void run_ranks(int ranks, const std::function<void(Engine&)>& body, const EngineOptions& options,
               const detail::EngineHooks& hooks);

}  // namespace ronde::comm
