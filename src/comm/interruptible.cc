#include "ronde/comm/interruptible.h"

#include <utility>

namespace ronde::comm {
namespace {

thread_local const Interruptible* innermost = nullptr;

}  // namespace

Interruptible::Interruptible(std::function<void()> check)
    : check_(std::move(check)), outer_(std::exchange(innermost, this)) {}

Interruptible::~Interruptible() {
  innermost = outer_;
}

const std::function<void()>* Interruptible::check() {
  return innermost ? &innermost->check_ : nullptr;
}

}  // namespace ronde::comm
