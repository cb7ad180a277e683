#pragma once

#include <functional>
#include <memory>
#include <string>

namespace ronde::train {

// Work of the current stream, recorded once and launched as one from then on, by torch's own CUDA graph: it keeps the
// memory of all tensors made on the way, and the counts of random numbers go on by themselves.
class StepGraph {
 public:
  StepGraph();
  ~StepGraph();
  StepGraph(StepGraph&&) noexcept;
  StepGraph& operator=(StepGraph&&) noexcept;

  // Why there are none here; empty: there are.
  static std::string why_none();

  // Records what `work` puts into the current stream; nothing of it runs. Tensors that it makes stay where they are.
  // With `beside` it takes the memory that this one's work needs only while it runs: what either computes lasts until
  // the other is launched, apart from tensors that somebody still holds. `beside` may go first.
  // REQUIRES: the current stream is not the default one, and that of `beside`; `work` neither waits for the device nor
  // reads from it.
  // FAILS WITH: System, with the reason; the device is then as before.
  void record(const std::function<void()>& work, const StepGraph* beside = nullptr);
  // Puts all of it into the current stream. REQUIRES: record() has succeeded.
  void launch();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ronde::train
