#pragma once

namespace ronde::launch::detail {

// A TCP port of this machine that nobody uses now. Another process may take it before a rank does, as with torchrun.
// FAILS WITH: System.
int free_port();

}  // namespace ronde::launch::detail
