#include "ronde/device/activity.h"

#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/system/clock.h"
#include "ronde/base/system/thread.h"
#include "ronde/device/cuda/activity_buffers.h"
#include "ronde/device/cuda/cupti.h"
#include "ronde/device/device.h"
#include "ronde/device/kernel_name.h"

namespace ronde::device {
namespace {

// A kernel of a graph is a record of its own as long as nobody enables CUPTI_ACTIVITY_KIND_GRAPH_TRACE. MEMCPY2 are
// copies between GPUs.
constexpr std::array kKinds{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                            CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET};

// --- What belongs to the process ---
// CUPTI calls back without a pointer of ours, on its own threads, and can do so until the process ends. So what its
// callbacks work on is global and is never destroyed. It is nothing but memory; everything else belongs to the
// recorder, of which CUPTI's subscription allows one at a time.
ActivityBuffers& buffers() {
  static ActivityBuffers* const all = new ActivityBuffers;
  return *all;
}

void CUPTIAPI on_buffer_wanted(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = buffers().take();
  *bytes = *buffer ? ActivityBuffers::kBytes : 0;
  *most_records = 0;  // as many as fit
}

void CUPTIAPI on_buffer_filled(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  if (buffer) buffers().put({buffer, valid});
}

// CUPTI brings the GPU's times to this clock, which is the trace's.
std::uint64_t CUPTIAPI read_clock() {
  return static_cast<std::uint64_t>(monotonic_now().count());
}

// Subscribing is how clients of CUPTI keep out of each other's way; we want none of its callbacks.
void CUPTIAPI on_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

// --- Records ---

std::string_view copy_name(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA: return "copy host to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH: return "copy device to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH: return "copy host to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP: return "copy between devices";
    default: return "copy inside device";
  }
}

// What all sorts of records call the same.
template <class Record>
Activity basics(const Record& record) {
  return {.device = static_cast<int>(record.deviceId),
          .stream = record.streamId,
          .begin_ns = static_cast<std::int64_t>(record.start),
          .end_ns = static_cast<std::int64_t>(record.end)};
}

template <class Record>
Activity copied(const CUpti_Activity& any) {
  const auto& record = reinterpret_cast<const Record&>(any);
  Activity activity = basics(record);
  activity.kind = Activity::Kind::Copy;
  activity.bytes = record.bytes;
  return activity;
}

// What kernels are called, worked out once for each.
class KernelNames {
 public:
  struct Kernel {
    std::string name;
    Activity::Kind kind = Activity::Kind::Kernel;
  };
  const Kernel& of(std::string_view mangled) {
    if (const auto found = kernels_.find(mangled); found != kernels_.end()) return found->second;
    Kernel kernel{kernel_name(mangled)};
    if (is_collective(kernel.name)) kernel.kind = Activity::Kind::Collective;
    return kernels_.emplace(mangled, std::move(kernel)).first->second;
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, Kernel, Hash, std::equal_to<>> kernels_;  // nodes stay where they are
};

Cupti load_for_gpus() {
  if (const std::string none = why_none(); !none.empty()) throw Error(Error::Kind::System, none);
  return Cupti::load();
}

}  // namespace

struct ActivityRecorder::Impl {
  explicit Impl(Sink given);
  ~Impl();

  void set_on(bool on) const;
  void read_until(const std::stop_token& stop);
  void read(const ActivityBuffers::Filled& buffer);
  void add(const CUpti_Activity& record);

  const Sink sink;
  const Cupti cupti;
  CUpti_SubscriberHandle subscriber = nullptr;
  std::atomic<std::uint64_t> dropped{0};
  KernelNames names;            // the thread's, like what follows
  std::vector<Activity> batch;  // of one buffer; here so that it keeps its memory
  std::jthread thread;
};

ActivityRecorder::Impl::Impl(Sink given) : sink(std::move(given)), cupti(load_for_gpus()) {
  cupti.check(cupti.subscribe(&subscriber, on_callback, nullptr), "subscribing to GPU activity");
  try {
    cupti.check(cupti.register_clock(read_clock), "registering the clock with CUPTI");
    cupti.check(cupti.register_buffers(on_buffer_wanted, on_buffer_filled), "registering buffers with CUPTI");
    buffers().begin();
    set_on(true);
    thread = std::jthread([this](const std::stop_token& stop) { read_until(stop); });
  } catch (...) {
    for (const CUpti_ActivityKind kind : kKinds) (void)cupti.disable(kind);
    buffers().end();
    (void)cupti.unsubscribe(subscriber);
    throw;
  }
}

// Nobody waits for the GPU here: after a failure it may never be done. A forced flush gives what there is.
ActivityRecorder::Impl::~Impl() {
  for (const CUpti_ActivityKind kind : kKinds) (void)cupti.disable(kind);
  (void)cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  thread.request_stop();
  thread.join();
  buffers().end();
  (void)cupti.unsubscribe(subscriber);
}

void ActivityRecorder::Impl::set_on(bool on) const {
  for (const CUpti_ActivityKind kind : kKinds)
    cupti.check(on ? cupti.enable(kind) : cupti.disable(kind),
                on ? "starting to record GPU activity" : "stopping to record GPU activity");
}

void ActivityRecorder::Impl::read_until(const std::stop_token& stop) {
  name_this_thread("ronde-gpu-trace");
  while (const auto filled = buffers().next(stop)) {
    read(*filled);
    buffers().give_back(filled->start);
  }
}

void ActivityRecorder::Impl::read(const ActivityBuffers::Filled& buffer) {
  batch.clear();
  CUpti_Activity* record = nullptr;
  while (cupti.next_record(buffer.start, buffer.bytes, &record) == CUPTI_SUCCESS) add(*record);
  std::size_t lost = 0;
  if (cupti.count_dropped(nullptr, 0, &lost) == CUPTI_SUCCESS) dropped += lost;
  if (!batch.empty()) sink(batch);
}

void ActivityRecorder::Impl::add(const CUpti_Activity& record) {
  Activity activity;
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel4&>(record);
      const auto& known = names.of(kernel.name ? kernel.name : "kernel without a name");
      activity = basics(kernel);
      activity.kind = known.kind;
      activity.name = known.name;
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      activity = copied<CUpti_ActivityMemcpy>(record);
      activity.name = copy_name(reinterpret_cast<const CUpti_ActivityMemcpy&>(record).copyKind);
      break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      activity = copied<CUpti_ActivityMemcpyPtoP>(record);
      activity.name = "copy between devices";
      break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      activity = copied<CUpti_ActivityMemset>(record);
      activity.name = "fill";
      break;
    default: return;
  }
  // Without times: not finished when it was flushed, or CUPTI had no memory on the GPU for them.
  if (activity.begin_ns <= 0 || activity.end_ns < activity.begin_ns)
    ++dropped;
  else
    batch.push_back(activity);
}

std::string why_no_activity() {
  try {
    (void)load_for_gpus();
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

ActivityRecorder::ActivityRecorder(Sink sink) : impl_(std::make_unique<Impl>(std::move(sink))) {}
ActivityRecorder::~ActivityRecorder() = default;

void ActivityRecorder::set_on(bool on) {
  impl_->set_on(on);
}

std::uint64_t ActivityRecorder::dropped() const {
  return impl_->dropped;
}

}  // namespace ronde::device
