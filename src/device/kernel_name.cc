#include "ronde/device/kernel_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace ronde::device {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)::";

std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 && text ? text.get() : name;
}

void remove_all(std::string& text, std::string_view part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) text.erase(at, part.size());
}

}  // namespace

std::string kernel_name(std::string_view mangled) {
  std::string full = demangled(std::string(mangled));
  remove_all(full, kAnonymous);
  std::string name;
  int depth = 0;  // of template arguments
  for (std::size_t i = 0; i < full.size(); ++i) {
    const char letter = full[i];
    if (letter == '<') {
      ++depth;
    } else if (letter == '>') {
      const bool arrow = i > 0 && full[i - 1] == '-';
      if (!arrow && depth > 0) --depth;
    } else if (depth == 0) {
      if (letter == '(') break;  // what follows are parameters
      if (letter == ' ')
        name.clear();  // what came before was the return type
      else
        name += letter;
    }
  }
  return name.empty() ? full : name;
}

bool is_collective(std::string_view kernel_name) {
  return kernel_name.find("nccl") != std::string_view::npos;
}

}  // namespace ronde::device
