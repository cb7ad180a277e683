#pragma once

#include <cstddef>
#include <utility>

#include "ronde/comm/engine.h"

namespace ronde::parallel::detail {

// A range of addresses that becomes memory as it is used, and ceases to be when it is discarded.
class ArenaBacking {
 public:
  virtual ~ArenaBacking() = default;
  ArenaBacking(const ArenaBacking&) = delete;
  ArenaBacking& operator=(const ArenaBacking&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

  // Makes the first `bytes` usable. False: the system has no more.
  virtual bool commit(std::size_t bytes) = 0;
  // Gives the whole pages inside a range back to the system; what they hold is lost.
  void discard(std::size_t offset, std::size_t bytes);

 protected:
  ArenaBacking(std::byte* data, std::size_t size, int advice) : data_(data), size_(size), advice_(advice) {}

 private:
  std::byte* const data_;
  const std::size_t size_;
  const int advice_;  // by which pages are given back
};

// Memory of this process alone, from the system in pieces of 64 MiB.
class PrivateBacking final : public ArenaBacking {
 public:
  // Reserves addresses: up to `most`, less where the process may not have so many. FAILS WITH: System.
  explicit PrivateBacking(std::size_t most);
  ~PrivateBacking() override;
  bool commit(std::size_t bytes) override;

 private:
  explicit PrivateBacking(std::pair<std::byte*, std::size_t> range);

  std::size_t committed_ = 0;
};

// Memory that the ranks of the node share.
class SharedBacking final : public ArenaBacking {
 public:
  explicit SharedBacking(comm::SharedMemory memory);
  bool commit(std::size_t) override { return true; }

 private:
  const comm::SharedMemory memory_;
};

}  // namespace ronde::parallel::detail
