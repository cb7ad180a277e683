#include "ronde/comm/detail/names.h"

namespace ronde::comm::detail {

NameSlot& NameTable::slot(std::string_view name) {
  auto found = slots_.find(name);
  if (found == slots_.end()) {
    found = slots_.try_emplace(std::string(name)).first;
    found->second.name = found->first;
  }
  return found->second;
}

NameSlot* NameTable::open(std::string_view name) {
  std::lock_guard lock(mutex_);
  NameSlot& opened = slot(name);
  return opened.live.exchange(true, std::memory_order_acq_rel) ? nullptr : &opened;
}

NameSlot* NameTable::find(std::string_view name) {
  std::lock_guard lock(mutex_);
  const auto found = slots_.find(name);
  return found == slots_.end() ? nullptr : &found->second;
}

NameSlot& NameTable::learn(std::string_view name) {
  std::lock_guard lock(mutex_);
  NameSlot& learnt = slot(name);
  if (learnt.id == kNoId) {
    learnt.id = static_cast<RequestId>(agreed_.size());
    agreed_.push_back(&learnt);
  }
  return learnt;
}

void NameTable::forget() {
  std::lock_guard lock(mutex_);
  agreed_.clear();
  for (auto entry = slots_.begin(); entry != slots_.end();) {
    entry->second.id = kNoId;
    entry = entry->second.live.load(std::memory_order_acquire) ? std::next(entry) : slots_.erase(entry);
  }
}

}  // namespace ronde::comm::detail
