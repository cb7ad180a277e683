#pragma once

#include <string>
#include <string_view>

namespace ronde {

// The name that top, gdb and the trace show for this thread. Linux keeps 15 letters; the rest is cut.
void name_this_thread(std::string_view name);
std::string name_of_this_thread();

}  // namespace ronde
