// Gives one parser any bytes: ronde_fuzz --target=csv FOLDER..., with libFuzzer's own flags.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "ronde/base/error.h"
#include "targets.h"

namespace {
const ronde::data::fuzz::Target* chosen = nullptr;  // libFuzzer calls functions, not objects
}

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  constexpr std::string_view kFlag = "--target=";
  for (int i = 1; i < *count; ++i)
    if (const std::string_view word((*arguments)[i]); word.starts_with(kFlag))
      chosen = ronde::data::fuzz::find_target(word.substr(kFlag.size()));
  if (!chosen) {
    std::fputs("ronde_fuzz: --target=NAME says which parser; the folders in tests/fuzz/seeds have their names\n",
               stderr);
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    chosen->run({reinterpret_cast<const char*>(bytes), size});
  } catch (const ronde::Error& error) {
    if (error.kind() == ronde::Error::Kind::Bug) std::abort();
  }
  return 0;
}
