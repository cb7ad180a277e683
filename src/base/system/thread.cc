#include "ronde/base/system/thread.h"

#include <array>

#include <pthread.h>

namespace ronde {
namespace {
constexpr std::size_t kLongestName = 15;  // without the closing zero; a longer name is refused by the kernel
}

void name_this_thread(std::string_view name) {
  pthread_setname_np(pthread_self(), std::string(name.substr(0, kLongestName)).c_str());
}

std::string name_of_this_thread() {
  std::array<char, kLongestName + 1> name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  return name.data();
}

}  // namespace ronde
