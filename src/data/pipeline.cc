#include "ronde/data/pipeline.h"

#include <exception>
#include <utility>

#include "ronde/data/pipeline/build.h"
#include "ronde/data/tools/advice.h"

namespace ronde::data {

struct Pipeline::Impl {
  Impl(const Origin& origin, const std::vector<Step>& steps, const PipelineOptions& options,
       const PipelineBuilder::Choice& choice)
      : builder(origin, steps, options, choice) {}

  // What failed once fails in the same way from then on.
  auto unless_failed(const auto& work) {
    if (failure) std::rethrow_exception(failure);
    try {
      return work();
    } catch (...) {
      failure = std::current_exception();
      throw;
    }
  }

  PipelineBuilder builder;
  std::exception_ptr failure = nullptr;
};

Pipeline::Pipeline(const Origin& origin, const std::vector<Step>& steps, PipelineOptions options,
                   std::optional<Position> start)
    : impl_(std::make_unique<Impl>(origin, steps, options, PipelineBuilder::Choice{.start = start})) {
  if (!options.say) return;
  const StorageFacts facts = origin.records ? storage_facts(*origin.records, origin.path) : StorageFacts{};
  for (const std::string& sentence : advise_on_steps(steps, facts)) options.say(sentence);
}

Pipeline::~Pipeline() = default;
Pipeline::Pipeline(Pipeline&&) noexcept = default;
Pipeline& Pipeline::operator=(Pipeline&&) noexcept = default;

std::optional<Sample> Pipeline::next() {
  return impl_->unless_failed([&] { return impl_->builder.next(); });
}

std::optional<Batch> Pipeline::next_batch() {
  return impl_->unless_failed([&] { return impl_->builder.next_batch(); });
}

Position Pipeline::position() const {
  return impl_->builder.position();
}

std::int64_t Pipeline::epoch() const {
  return impl_->builder.epoch();
}

std::vector<StageStats> Pipeline::stages() const {
  return impl_->builder.engine().stats();
}

std::int64_t Pipeline::skipped() const {
  return impl_->builder.bad().count();
}

std::size_t Pipeline::peak_bytes() const {
  return impl_->builder.engine().peak_bytes();
}

std::chrono::nanoseconds Pipeline::waited() const {
  return impl_->builder.engine().waited();
}

}  // namespace ronde::data
