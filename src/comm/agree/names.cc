#include "ronde/comm/agree/names.h"

namespace ronde::comm::detail {

NameSlot& NameTable::slot(std::string_view name) {
  auto found = slots_.find(name);
  if (found == slots_.end()) {
    found = slots_.try_emplace(std::string(name)).first;
    found->second.name = found->first;
  }
  return found->second;
}

bool NameTable::in_use(const NameSlot& slot) const {
  // In this order: a request may be done in between, but then the program has not looked since.
  if (slot.live.load(std::memory_order_acquire)) return true;
  return looks_ && slot.opened == looks_->load(std::memory_order_relaxed);
}

NameSlot* NameTable::open(std::string_view name) {
  const Lock lock(mutex_);
  NameSlot& opened = slot(name);
  if (in_use(opened)) return nullptr;
  opened.live.store(true, std::memory_order_relaxed);
  opened.opened = looks_ ? looks_->load(std::memory_order_relaxed) : kNever;
  return &opened;
}

void NameTable::take_back(NameSlot& slot) {
  const Lock lock(mutex_);
  slot.opened = kNever;
  close(slot);
}

NameSlot* NameTable::find(std::string_view name) {
  const Lock lock(mutex_);
  const auto found = slots_.find(name);
  return found == slots_.end() ? nullptr : &found->second;
}

NameSlot& NameTable::learn(std::string_view name) {
  const Lock lock(mutex_);
  NameSlot& learnt = slot(name);
  if (learnt.id == kNoId) {
    learnt.id = static_cast<RequestId>(agreed_.size());
    agreed_.push_back(&learnt);
  }
  return learnt;
}

void NameTable::forget() {
  const Lock lock(mutex_);
  agreed_.clear();
  for (auto entry = slots_.begin(); entry != slots_.end();) {
    entry->second.id = kNoId;
    entry = in_use(entry->second) ? std::next(entry) : slots_.erase(entry);
  }
}

}  // namespace ronde::comm::detail
