#pragma once

#include <chrono>

#include "ronde/device/device.h"
#include "ronde/device/unique.h"

struct CUstream_st;  // CUDA's own: cudaStream_t is CUstream_st*
struct CUevent_st;

namespace ronde::device {

namespace detail {
void destroy_stream(CUstream_st* stream) noexcept;
void destroy_event(CUevent_st* event) noexcept;
}  // namespace detail

class Event;

enum class Priority { Normal, High };

// A queue of work on one GPU. The host's stream (device() == kHost) is the same thing with nothing to wait for: what
// is put into it is done on return.
// A stream may be used from several threads; who puts work in first is then up to them.
class Stream {
 public:
  Stream() noexcept = default;  // the host's
  // FAILS WITH: BadInput for a GPU that is not there; System.
  explicit Stream(int device, Priority priority = Priority::Normal);
  // A stream that someone else owns, such as torch's current one; it must outlive this. Null is CUDA's default stream.
  static Stream borrow(int device, CUstream_st* native);
  Stream(Stream&& other) noexcept;  // leaves the host's stream behind
  Stream& operator=(Stream&& other) noexcept;

  int device() const noexcept { return device_; }
  bool on_host() const noexcept { return device_ == kHost; }
  CUstream_st* native() const noexcept { return native_; }

  // True when all work so far is done.
  // FAILS WITH: System, with the error of any work in it.
  bool idle() const;
  // Blocks the calling thread until all work so far is done. FAILS WITH: as idle().
  void synchronize() const;
  // Work put in from now on waits until `event` has happened; the calling thread does not.
  void wait(const Event& event) const;

 private:
  int device_ = kHost;
  CUstream_st* native_ = nullptr;
  Unique<CUstream_st*, detail::destroy_stream> owned_;
};

// Calls `done(context)` on a thread of CUDA's when all work so far in the stream is done; on the host's stream at once.
// It must be quick and must not use the GPU.
// FAILS WITH: System.
void call_after(const Stream& stream, void (*done)(void*), void* context);

struct EventOptions {
  bool timing = false;  // for elapsed(); costs a little
  bool sleep = true;    // synchronize() sleeps; otherwise it spins, which wakes microseconds sooner
};

// A mark in a stream that one can wait for. Belongs to the device of the stream it is made for.
// Not safe to record from several threads at once. Once moved from, it may only be assigned to.
class Event {
 public:
  explicit Event(const Stream& stream, EventOptions options = {});

  // Marks the stream's work so far; an earlier mark is forgotten.
  // REQUIRES: a stream of the same device.
  void record(const Stream& stream);
  // True when the work that was marked is done, or nothing was ever marked.
  bool ready() const;
  void synchronize() const;

  int device() const noexcept { return device_; }
  CUevent_st* native() const noexcept { return owned_.get(); }

 private:
  friend std::chrono::duration<double> elapsed(const Event& from, const Event& to);

  int device_ = kHost;
  bool timing_ = false;
  std::chrono::steady_clock::time_point recorded_{};  // the host's mark; zero: none yet
  Unique<CUevent_st*, detail::destroy_event> owned_;
};

// REQUIRES: both were made with `timing` for the same device, recorded and ready.
// FAILS WITH: BadInput when that does not hold, or System in CUDA's words.
std::chrono::duration<double> elapsed(const Event& from, const Event& to);

}  // namespace ronde::device
