#include "pending.h"

#include <torch/csrc/autograd/python_variable.h>

#include "unlocked.h"

namespace ronde::python {
namespace {

// What the engine made memory for: the tensor that keeps it.
at::Tensor made_by_engine(const Travelling& part, const comm::Result& result) {
  std::vector<std::int64_t> sizes = part.row;
  sizes.insert(sizes.begin(), result.output.shape.rows());
  if (result.memory == nullptr) return at::empty(sizes, part.input.options().device(part.device));
  // The tensor itself and no view of it, which could not be changed in place where gradients flow.
  const at::Tensor& made = *static_cast<const at::Tensor*>(result.memory.get());
  made.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return made.to(part.device);
}

at::Tensor finished(Travelling& part) {
  if (!part.output.defined()) return made_by_engine(part, part.handle.wait());
  if (part.copy.defined()) {
    at::NoGradGuard no_grad;
    part.output.copy_(part.copy);
  }
  return part.output;
}

}  // namespace

bool Pending::poll() const {
  for (const Travelling& part : parts)
    if (!part.handle.poll()) return false;
  return true;
}

void Pending::wait() {
  if (poll()) {
    for (const Travelling& part : parts) part.handle.wait();  // throws what came of it
    return;
  }
  const Unlocked unlocked;
  for (const Travelling& part : parts) part.handle.wait();
}

PyObject* Pending::take_result() {
  switch (result) {
    case Result::Nothing: Py_RETURN_NONE;
    case Result::One: return THPVariable_Wrap(finished(parts[0]));
    case Result::LastJoined: return PyLong_FromLong(parts[0].handle.wait().last_joined);
    case Result::Many: {
      pybind11::tuple all(parts.size());
      for (std::size_t i = 0; i < parts.size(); ++i) all[i] = pybind11::cast(finished(parts[i]));
      return all.release().ptr();
    }
    case Result::WithSplits: {
      const auto& splits = parts[0].handle.wait().splits;
      const auto received = at::tensor(at::IntArrayRef(splits), at::kLong).to(splits_type);
      return pybind11::make_tuple(finished(parts[0]), received).release().ptr();
    }
  }
  Py_RETURN_NONE;
}

int PendingTable::add(Pending pending) {
  if (2 * live_ >= slots_.size()) grow();
  while (slot_of(next_).handle != kFree) next_ = after(next_);
  Slot& slot = slot_of(next_);
  slot.handle = next_;
  slot.pending = std::move(pending);
  ++live_;
  next_ = after(next_);
  return slot.handle;
}

// Twice as many slots: those that were apart stay apart.
void PendingTable::grow() {
  std::vector<Slot> before(2 * slots_.size());
  std::swap(before, slots_);
  for (Slot& slot : before)
    if (slot.handle != kFree) slot_of(slot.handle) = std::move(slot);
}

Pending* PendingTable::find(int handle) {
  if (handle < 0) return nullptr;
  Slot& slot = slot_of(handle);
  return slot.handle == handle ? &slot.pending : nullptr;
}

void PendingTable::remove(int handle) {
  Slot& slot = slot_of(handle);
  if (slot.handle != handle) return;
  slot = {};
  --live_;
}

void PendingTable::clear() {
  for (Slot& slot : slots_) slot = {};
  live_ = 0;
}

}  // namespace ronde::python
