#pragma once

#include <functional>
#include <string>

namespace ronde {

// Runs what a program is for and returns its exit code. An error is said on standard error as "NAME: what went wrong";
// its code is 2 for wrong input, otherwise 1. A rank that fails because another one left ends a second later: launchers
// name the one that ends first.
int run_main(const std::string& name, const std::function<int()>& body);

}  // namespace ronde
