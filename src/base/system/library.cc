#include "ronde/base/system/library.h"

#include <utility>

#include <dlfcn.h>

#include "ronde/base/error.h"

namespace ronde {

Library::Library(std::string file)
    : file_(std::move(file)), handle_(dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
  if (handle_) return;
  const char* reason = dlerror();
  throw Error(Error::Kind::System, fmt::format("{} cannot be loaded: {}", file_, reason ? reason : "unknown reason"));
}

Library::~Library() {
  if (handle_) dlclose(handle_);
}

Library::Library(Library&& other) noexcept
    : file_(std::move(other.file_)), handle_(std::exchange(other.handle_, nullptr)) {}

void* Library::symbol(const std::string& name) const {
  void* found = dlsym(handle_, name.c_str());
  if (!found) throw Error(Error::Kind::System, fmt::format("{} has no function {}", file_, name));
  return found;
}

}  // namespace ronde
