#pragma once

#include <string_view>

namespace ronde {

std::string_view version();   // "0.1.0"
std::string_view revision();  // the git commit it was built from, or "unknown"

}  // namespace ronde
