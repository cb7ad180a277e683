#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "ronde/base/log.h"
#include "ronde/comm/engine.h"

namespace ronde::parallel {

namespace detail {
struct ScopeMemory;
}  // namespace detail

struct GradientMemoryOptions {
  // Addresses for it, of comm.arena_bytes; 0: a quarter to a half of what is left there. They cost memory as they are
  // used.
  std::size_t bytes = 0;
  std::size_t smallest = 64 << 10;  // smaller tensors come from elsewhere
  // Sizes of gradients, in bytes: tensors of other sizes, which the backward pass makes on its way, come from
  // elsewhere. Empty: all sizes.
  std::vector<std::size_t> sizes = {};
  Log log = Log();
};

// Memory that the ranks of a node share, for gradients: they are reduced where they lie, without a copy. One an engine;
// what dead tensors leave is kept for the next. Tensors may outlive it, and the engine too. When it is used up, a
// warning says so, once, and tensors come from private memory again.
//
// Safe to use from any thread.
class GradientMemory {
 public:
  // FAILS WITH: System when the engine has no such memory left; as install_arena(), whose REQUIRES holds here too.
  explicit GradientMemory(comm::Engine& engine, const GradientMemoryOptions& options = {});
  ~GradientMemory();
  GradientMemory(const GradientMemory&) = delete;
  GradientMemory& operator=(const GradientMemory&) = delete;

  // After a collective has failed, other ranks may still write into its tensors: from now on nothing of this memory is
  // used again, and new tensors are private.
  void retire();

 private:
  friend class GradientScope;
  const std::unique_ptr<detail::ScopeMemory> memory_;
};

// While it lives, large tensors that this thread makes come from a GradientMemory, so gradients do when the backward
// pass of CPU tensors runs inside: it runs on the thread that calls it. Scopes nest: the inner one counts.
//
//   GradientMemory memory(session.engine());
//   for (...) { { GradientScope scope(memory); loss.backward(); } optimizer.step(); }
//
// REQUIRES: lives on the stack of one thread, and ends before the memory does.
class GradientScope {
 public:
  explicit GradientScope(GradientMemory& memory) : GradientScope(&memory) {}
  explicit GradientScope(GradientMemory* memory);  // nullptr: tensors come from where they do outside
  ~GradientScope();
  GradientScope(const GradientScope&) = delete;
  GradientScope& operator=(const GradientScope&) = delete;

 private:
  detail::ScopeMemory* const before_;
};

}  // namespace ronde::parallel

namespace ronde {
using parallel::GradientMemory;
using parallel::GradientScope;
}  // namespace ronde
