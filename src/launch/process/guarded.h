#pragma once

#include <functional>

namespace ronde::launch::detail {

// Runs `work` in a child process, so that it takes the death of two processes to leave an orphan behind:
//
//   this process (what the user sees)   passes signals and the terminal's input on, waits
//     └─ the child, in its own session  runs `work`; sees by the lifeline that this process has died
//          └─ whatever it starts        in whatever group or session
//
// Returns what `work` returns, and throws what it throws. When `work` ends, in whatever way, all processes that it has
// started are killed. `lifeline` is a descriptor at whose end the child reads nothing until this process is dead; then
// `work` must come to an end by itself.
// REQUIRES: the calling process has no other children and no other threads.
// FAILS WITH: System when the child is killed.
//
// `signalled`, where given, becomes true when a signal was passed on to `work`.
int guarded(const std::function<int(int lifeline)>& work, bool* signalled = nullptr);

}  // namespace ronde::launch::detail
