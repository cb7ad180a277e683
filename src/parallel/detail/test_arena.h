#pragma once

#include <functional>

#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "ronde/parallel/arena.h"
#include "ronde/parallel/detail/arena_allocator.h"

// For tests of where tensors lie.
namespace ronde::parallel::detail {

inline torch::Tensor tensor_of(std::int64_t bytes, float value = 1.0f) {
  return torch::full({bytes / 4}, value);
}

inline bool holds(const torch::Tensor& tensor, float value) {
  return tensor.eq(value).all().item<bool>();
}

// In memory that the arena or a GradientMemory has handed out, rather than the C library.
inline bool from_pool(const torch::Tensor& tensor) {
  return ArenaAllocator::of_process().ranges().find(tensor.data_ptr()) != nullptr;
}

// Runs `body` in a forked child; true when it says so within 20 seconds.
inline bool in_child(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    ::_exit(body() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The arena is the process's: every test begins and ends without.
struct ArenaTest : testing::Test {
  ~ArenaTest() override { uninstall_arena(); }
};

}  // namespace ronde::parallel::detail
