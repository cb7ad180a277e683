#include "ronde/device/stream.h"

#include "ronde/device/cuda/check.h"
#include "ronde/device/detail/host_event.h"

namespace ronde::device {
namespace {

bool is_done(cudaError_t result, const char* doing) {
  if (result == cudaErrorNotReady) {
    (void)cudaGetLastError();  // otherwise whoever asks next for the last error, such as torch, takes it for a failure
    return false;
  }
  check(result, doing);
  return true;
}

}  // namespace

void detail::destroy_stream(CUstream_st* stream) noexcept {
  (void)cudaStreamDestroy(stream);
}

void detail::destroy_event(CUevent_st* event) noexcept {
  (void)cudaEventDestroy(event);
}

Stream::Stream(int device, Priority priority) : device_(device) {
  if (on_host()) return;
  const CurrentDevice current(device);
  int lowest = 0;
  int highest = 0;  // numerically the smaller
  check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "querying the priorities of streams");
  // Not tied to the default stream: whoever uses that one (torch does) must not wait for ours.
  check(cudaStreamCreateWithPriority(&native_, cudaStreamNonBlocking, priority == Priority::High ? highest : lowest),
        "creating a stream");
  owned_ = Unique<CUstream_st*, detail::destroy_stream>(native_);
}

Stream Stream::borrow(int device, CUstream_st* native) {
  if (device != kHost) require_gpu(device);
  Stream stream;
  stream.device_ = device;
  stream.native_ = native;
  return stream;
}

bool Stream::idle() const {
  if (on_host()) return true;
  const CurrentDevice current(device_);  // a borrowed default stream means the current GPU's
  return is_done(cudaStreamQuery(native_), "querying a stream");
}

void Stream::synchronize() const {
  if (on_host()) return;
  const CurrentDevice current(device_);
  check(cudaStreamSynchronize(native_), "waiting for a stream");
}

void Stream::wait(const Event& event) const {
  if (event.device() == kHost) return;  // what the host recorded has happened
  if (on_host()) return event.synchronize();
  const CurrentDevice current(device_);
  check(cudaStreamWaitEvent(native_, event.native(), 0), "making a stream wait for an event");
}

Event::Event(const Stream& stream, EventOptions options) : device_(stream.device()), timing_(options.timing) {
  if (stream.on_host()) return;
  const CurrentDevice current(device_);
  CUevent_st* event = nullptr;
  const unsigned flags = (options.timing ? 0 : cudaEventDisableTiming) | (options.sleep ? cudaEventBlockingSync : 0);
  check(cudaEventCreateWithFlags(&event, flags), "creating an event");
  owned_ = Unique<CUevent_st*, detail::destroy_event>(event);
}

void Event::record(const Stream& stream) {
  detail::require_same_device(device_, stream.device());
  if (stream.on_host()) {
    recorded_ = std::chrono::steady_clock::now();
    return;
  }
  const CurrentDevice current(device_);
  check(cudaEventRecord(native(), stream.native()), "recording an event");
}

bool Event::ready() const {
  return device_ == kHost || is_done(cudaEventQuery(native()), "querying an event");
}

void Event::synchronize() const {
  if (device_ != kHost) check(cudaEventSynchronize(native()), "waiting for an event");
}

void call_after(const Stream& stream, void (*done)(void*), void* context) {
  if (stream.on_host()) return done(context);
  const CurrentDevice current(stream.device());
  check(cudaLaunchHostFunc(stream.native(), done, context), "adding a callback to a stream");
}

std::chrono::duration<double> elapsed(const Event& from, const Event& to) {
  detail::require_timing(from.timing_, to.timing_);
  detail::require_same_device(from.device_, to.device_);
  if (from.device_ == kHost) return detail::elapsed_on_host(from.recorded_, to.recorded_);
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, from.native(), to.native()), "measuring the time between two events");
  return std::chrono::duration<double, std::milli>(milliseconds);
}

}  // namespace ronde::device
