#include "ronde/device/cuda/cupti.h"

#include <optional>
#include <string>
#include <vector>

#include <cuda.h>

#include "ronde/base/error.h"
#include "ronde/base/system/library.h"

namespace ronde::device {
namespace {

// The one of the CUDA that we are built with comes first: torch has usually loaded it already, and a process must not
// have two. RONDE_CUPTI_LIBRARY is where the build found it, since toolkits keep it off the loader's path.
std::vector<std::string> candidates() {
  std::vector<std::string> files{fmt::format("libcupti.so.{}", CUDA_VERSION / 1000)};
  if (const std::string found = RONDE_CUPTI_LIBRARY; !found.empty()) files.push_back(found);
  for (const char* file : {"libcupti.so.13", "libcupti.so.12", "libcupti.so"})
    if (file != files.front()) files.emplace_back(file);
  return files;
}

Library load_library() {
  std::string first_reason;
  for (const std::string& file : candidates()) {
    try {
      return Library(file);
    } catch (const Error& error) {
      if (first_reason.empty()) first_reason = error.message();
    }
  }
  throw Error(Error::Kind::System, fmt::format("CUPTI is not installed here ({})", first_reason));
}

}  // namespace

Cupti Cupti::load() {
  const Library library = load_library();  // stays in memory when this goes
  return {
      .subscribe = library.function<decltype(cuptiSubscribe)>("cuptiSubscribe"),
      .unsubscribe = library.function<decltype(cuptiUnsubscribe)>("cuptiUnsubscribe"),
      .register_clock =
          library.function<decltype(cuptiActivityRegisterTimestampCallback)>("cuptiActivityRegisterTimestampCallback"),
      .register_buffers = library.function<decltype(cuptiActivityRegisterCallbacks)>("cuptiActivityRegisterCallbacks"),
      .enable = library.function<decltype(cuptiActivityEnable)>("cuptiActivityEnable"),
      .disable = library.function<decltype(cuptiActivityDisable)>("cuptiActivityDisable"),
      .flush_all = library.function<decltype(cuptiActivityFlushAll)>("cuptiActivityFlushAll"),
      .next_record = library.function<decltype(cuptiActivityGetNextRecord)>("cuptiActivityGetNextRecord"),
      .count_dropped =
          library.function<decltype(cuptiActivityGetNumDroppedRecords)>("cuptiActivityGetNumDroppedRecords"),
      .result_string = library.function<decltype(cuptiGetResultString)>("cuptiGetResultString")};
}

void Cupti::check(CUptiResult result, std::string_view doing) const {
  if (result == CUPTI_SUCCESS) return;
  const char* words = nullptr;
  if (result_string(result, &words) != CUPTI_SUCCESS || !words) words = "unknown error";
  const std::string_view hint = result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
                                    ? "; another trace or profiler (Nsight, torch's) is active in this process"
                                    : "";
  throw Error(Error::Kind::System, fmt::format("{}: CUPTI reports: {}{}", doing, words, hint));
}

}  // namespace ronde::device
