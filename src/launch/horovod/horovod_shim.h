#pragma once

#include <filesystem>
#include <string>

// Where Python finds what answers to `import horovod`, and what records a program as it is.
namespace ronde::launch {

// What PYTHONPATH begins with for scripts that are written for Horovod: the folder that holds our package `horovod`,
// then the one that holds `ronde`. They lie beside `program`, the path of `ronde` itself: in the build folder, or
// where pip has put the package.
// FAILS WITH: BadInput that says where it looked, and what to do.
std::string horovod_python_path(const std::filesystem::path& program);

// The folder that PYTHONPATH begins with for Python programs whose trace is asked for: a `sitecustomize` in it, which
// makes way for that of the user, records them as they are. Empty where `program` has no Python package beside it.
std::string trace_python_path(const std::filesystem::path& program);

// The words of PYTHONPATH: `first`, then those of `path` that are not in it.
std::string python_path(const std::string& first, const std::string& path);

}  // namespace ronde::launch
