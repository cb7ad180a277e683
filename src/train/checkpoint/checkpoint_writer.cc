#include "ronde/train/checkpoint/checkpoint_writer.h"

#include <atomic>
#include <thread>
#include <utility>

#include "ronde/base/system/clock.h"
#include "ronde/base/system/mutex.h"
#include "ronde/models/safetensors.h"
#include "ronde/trace/span.h"
#include "ronde/trace/span_names.h"
#include "ronde/train/checkpoint/checkpoint_share.h"

namespace ronde::train {
namespace {

std::size_t bytes_of(const TensorMap& tensors) {
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : tensors) bytes += models::stored_bytes(tensor);
  return bytes;
}

// In memory of their own, as they will be written.
void copy_tensors(TensorMap& tensors) {
  const torch::NoGradGuard no_grad;
  for (auto& [name, tensor] : tensors) {
    torch::Tensor copy = torch::empty(tensor.sizes(), torch::TensorOptions(tensor.scalar_type()));
    copy.copy_(tensor);
    tensor = std::move(copy);
  }
}

}  // namespace

struct CheckpointWriter::Impl {
  explicit Impl(CheckpointWriterOptions asked) : options(std::move(asked)) {}

  const CheckpointWriterOptions options;
  std::thread thread;
  std::atomic<bool> busy = false;
  Mutex mutex;
  std::optional<Error> error RONDE_GUARDED_BY(mutex);
  std::optional<std::filesystem::path> newest RONDE_GUARDED_BY(mutex);
  std::optional<CheckpointCost> cost RONDE_GUARDED_BY(mutex);

  void fail(const Error& failure) {
    const Lock lock(mutex);
    if (!error) error = failure;
  }

  // Whatever goes wrong waits for take_error().
  template <class Work>
  bool guarded(const Work& work) {
    try {
      work();
      return true;
    } catch (const Error& failure) {
      fail(failure);
    } catch (const std::exception& failure) {
      fail(Error(Error::Kind::System, fmt::format("cannot write a checkpoint: {}", failure.what())));
    }
    return false;
  }

  // `lost`: what training has lost by it so far; nothing: it waits until this is done.
  void write(const CheckpointShare& share, std::chrono::nanoseconds begin,
             std::optional<std::chrono::nanoseconds> lost) {
    guarded([&] {
      const trace::Span span("checkpoint write", "checkpoint",
                             {{"step", share.info.step},
                              {"bytes", bytes_of(share.model) + bytes_of(share.optimizer) + bytes_of(share.ema)}});
      auto path = save_share(options.checkpoint, share);
      const auto total = monotonic_now() - begin;
      const Lock lock(mutex);
      newest = std::move(path);
      cost = {.lost = lost.value_or(total), .total = total};
    });
    busy = false;
  }
};

CheckpointWriter::CheckpointWriter(CheckpointWriterOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

CheckpointWriter::~CheckpointWriter() {
  wait();
}

void CheckpointWriter::save(const Checkpoint& checkpoint) {
  const auto begin = monotonic_now();
  wait();
  CheckpointShare share = take_share(checkpoint, impl_->options.checkpoint);
  impl_->busy = true;
  if (!impl_->options.background) return impl_->write(share, begin, {});
  const bool started = impl_->guarded([&] {
    {
      const trace::Span span(trace::span_names::kSave, "checkpoint", {{"step", share.info.step}});
      copy_tensors(share.model);
      copy_tensors(share.optimizer);
      copy_tensors(share.ema);
    }
    const auto lost = monotonic_now() - begin;
    impl_->thread = std::thread([impl = impl_.get(), share = std::move(share), begin, lost] {
      const trace::Scope scope(impl->options.recorder, "checkpoint");
      impl->write(share, begin, lost);
    });
  });
  if (!started) impl_->busy = false;
}

bool CheckpointWriter::busy() const {
  return impl_->busy;
}

void CheckpointWriter::wait() {
  if (!impl_->thread.joinable()) return;
  std::optional<trace::Span> span;
  if (impl_->busy) span.emplace(trace::Name(trace::span_names::kWaitForSaving), trace::Name("checkpoint"));
  impl_->thread.join();
}

std::optional<Error> CheckpointWriter::take_error() {
  const Lock lock(impl_->mutex);
  return std::exchange(impl_->error, std::nullopt);
}

std::optional<std::filesystem::path> CheckpointWriter::newest() const {
  const Lock lock(impl_->mutex);
  return impl_->newest;
}

std::optional<CheckpointCost> CheckpointWriter::cost() const {
  const Lock lock(impl_->mutex);
  return impl_->cost;
}

}  // namespace ronde::train
