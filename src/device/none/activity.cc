#include "ronde/device/activity.h"

#include "ronde/base/error.h"
#include "ronde/device/device.h"

// Without CUPTI, in a build without CUDA or one whose toolkit lacks CUPTI's headers.
namespace ronde::device {

struct ActivityRecorder::Impl {};

std::string why_no_activity() {
  const std::string none = why_none();
  return none.empty() ? "this build has no CUPTI: its headers were not found" : none;
}

ActivityRecorder::ActivityRecorder(Sink) {
  throw Error(Error::Kind::System, why_no_activity());
}
ActivityRecorder::~ActivityRecorder() = default;

void ActivityRecorder::set_on(bool) {}

std::uint64_t ActivityRecorder::dropped() const {
  return 0;
}

}  // namespace ronde::device
