#pragma once

#include <string>
#include <string_view>
#include <vector>

// What can be asked about the optimizers that there are (entry.h) without torch's headers.
namespace ronde::train {

std::vector<std::string> optimizer_names();
// A line for each: its name and what it is.
std::string optimizer_table();
// Those that read this setting, such as "optimizer.beta2"; all where no optimizer claims it for itself.
std::vector<std::string> optimizers_with(std::string_view setting);
// Those that have fused kernels here.
std::vector<std::string> fused_optimizers();

}  // namespace ronde::train
