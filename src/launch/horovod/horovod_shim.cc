#include "ronde/launch/horovod/horovod_shim.h"

#include <algorithm>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::launch {
namespace {

namespace fs = std::filesystem;

struct Folders {
  fs::path shim;     // holds horovod/
  fs::path package;  // holds ronde/
};

Folders built_beside(const fs::path& program) {
  const fs::path here = program.parent_path();
  return {here / "python" / "ronde" / "shim", here / "python"};
}

// `program` is ronde/bin/ronde.
Folders installed_around(const fs::path& program) {
  const fs::path here = program.parent_path();
  return {here.parent_path() / "shim", here.parent_path().parent_path()};
}

}  // namespace

std::string horovod_python_path(const fs::path& program) {
  const Folders built = built_beside(program), installed = installed_around(program);
  for (const Folders& folders : {built, installed}) {
    std::error_code ignored;
    if (fs::is_directory(folders.shim / "horovod", ignored))
      return fmt::format("{}:{}", folders.shim.string(), folders.package.string());
  }
  throw Error::bad_input(
      "--horovod: the Python package is missing; looked for {} and {}; './ronde-dev build' builds it, 'pip install .' "
      "installs it",
      (built.shim / "horovod").string(), (installed.shim / "horovod").string());
}

std::string trace_python_path(const fs::path& program) {
  for (const Folders& folders : {built_beside(program), installed_around(program)}) {
    std::error_code ignored;
    const fs::path folder = folders.shim / "traced";
    if (fs::is_regular_file(folder / "sitecustomize.py", ignored)) return folder.string();
  }
  return "";
}

std::string python_path(const std::string& first, const std::string& path) {
  std::string all = first;
  const auto known = split(first, ':');
  for (const auto folder : split(path, ':'))
    if (!folder.empty() && std::ranges::count(known, folder) == 0) all += fmt::format(":{}", folder);
  return all;
}

}  // namespace ronde::launch
