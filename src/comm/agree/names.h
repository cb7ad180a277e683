#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ronde/base/system/mutex.h"

namespace ronde::comm::detail {

using RequestId = std::uint32_t;
inline constexpr RequestId kNoId = ~RequestId{0};

struct Unit;

// What this member knows about a name in a group.
struct NameSlot {
  std::string_view name;
  std::atomic<bool> live = false;  // a request of this name is on its way here
  std::uint64_t opened =
      ~std::uint64_t{0};    // how often the program had looked when it came into use; guarded by the table
  RequestId id = kNoId;     // the number that the group has agreed on; touched by the engine alone
  Unit* unit = nullptr;     // what waits under this name; touched by the engine alone
  std::uint64_t cycle = 0;  // of this member's program, in which it came last; touched by the engine alone
};

// The names of a group. Names are sent once: members learn them in the order of the proposals, so that all have the
// same numbers, and use these from then on. open() and close() are for any thread, the rest for the engine.
//
// A name is in use until its request is done and the program has had a chance to see that: whether two requests of one
// name are refused must not depend on how quick the other ranks are.
class NameTable {
 public:
  // `looks`: how often the program has looked so far: waited, seen that something was done, or begun a step. None: it
  // sees at once what is done. It must outlive the table.
  explicit NameTable(const std::atomic<std::uint64_t>* looks = nullptr) : looks_(looks) {}

  // The slot of a name that comes into use; nothing when it is in use already.
  NameSlot* open(std::string_view name);
  // Its request is done.
  static void close(NameSlot& slot) { slot.live.store(false, std::memory_order_release); }
  // It was never asked for.
  void take_back(NameSlot& slot);

  NameSlot& learn(std::string_view name);  // gives it a number, if it has none
  NameSlot* find(std::string_view name);
  NameSlot& at(RequestId id) { return *agreed_.at(id); }
  std::size_t agreed() const { return agreed_.size(); }
  // Forgets all numbers, and names that are not in use: programs may make up new ones for ever.
  void forget();

 private:
  NameSlot& slot(std::string_view name) RONDE_REQUIRES(mutex_);
  bool in_use(const NameSlot& slot) const;

  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  const std::atomic<std::uint64_t>* const looks_;
  Mutex mutex_;
  std::unordered_map<std::string, NameSlot, Hash, std::equal_to<>> slots_
      RONDE_GUARDED_BY(mutex_);    // slots stay in place
  std::vector<NameSlot*> agreed_;  // by id
};

}  // namespace ronde::comm::detail
