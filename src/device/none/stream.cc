#include "ronde/device/stream.h"

#include "ronde/device/detail/host_event.h"

// Only the host's stream can exist here, and it is always done.
namespace ronde::device {

void detail::destroy_stream(CUstream_st*) noexcept {}

void detail::destroy_event(CUevent_st*) noexcept {}

Stream::Stream(int device, Priority) {
  if (device != kHost) require_gpu(device);
}

Stream Stream::borrow(int device, CUstream_st*) {
  return Stream(device);
}

bool Stream::idle() const {
  return true;
}

void Stream::synchronize() const {}

void Stream::wait(const Event&) const {}

Event::Event(const Stream&, EventOptions options) : timing_(options.timing) {}

void Event::record(const Stream&) {
  recorded_ = std::chrono::steady_clock::now();
}

bool Event::ready() const {
  return true;
}

void Event::synchronize() const {}

void call_after(const Stream&, void (*done)(void*), void* context) {
  done(context);
}

std::chrono::duration<double> elapsed(const Event& from, const Event& to) {
  detail::require_timing(from.timing_, to.timing_);
  return detail::elapsed_on_host(from.recorded_, to.recorded_);
}

}  // namespace ronde::device
