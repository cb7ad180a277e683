#include "ronde/parallel/detail/recorded_round.h"

#include <utility>

#include "ronde/base/error.h"
#include "ronde/parallel/tensor_buffer.h"

namespace ronde::parallel::detail {
namespace {

// Enough that links are busy, and few enough that the last one is soon there.
constexpr std::size_t kBucketBytes = std::size_t{25} << 20;

}  // namespace

std::vector<std::vector<std::size_t>> cut_into_buckets(const std::vector<GradientFacts>& gradients, std::size_t most) {
  std::vector<std::vector<std::size_t>> buckets;
  std::size_t bytes = 0;
  for (std::size_t i = gradients.size(); i-- > 0;) {
    const bool fits = !buckets.empty() && bytes + gradients[i].bytes <= most &&
                      gradients[buckets.back().front()].type == gradients[i].type;
    if (!fits) {
      buckets.emplace_back();
      bytes = 0;
    }
    buckets.back().push_back(i);
    bytes += gradients[i].bytes;
  }
  return buckets;
}

RecordedRound::RecordedRound(NamedTensors parameters, ReduceBucket reduce)
    : parameters_(std::move(parameters)), reduce_(std::move(reduce)) {
  std::vector<GradientFacts> facts;
  for (const auto& [name, parameter] : parameters_)
    facts.push_back({.bytes = parameter.nbytes(), .type = parameter.scalar_type()});
  for (auto& members : cut_into_buckets(facts, kBucketBytes)) {
    for (const std::size_t i : members)
      bucket_of_.emplace(parameters_[i].second.unsafeGetTensorImpl(), buckets_.size());
    buckets_.push_back({.members = std::move(members)});
  }
  begin();
}

void RecordedRound::begin() {
  for (Bucket& bucket : buckets_) {
    bucket.missing = bucket.members.size();
    bucket.made.reset();
  }
}

void RecordedRound::made(const torch::Tensor& parameter) {
  const auto found = bucket_of_.find(parameter.unsafeGetTensorImpl());
  if (found == bucket_of_.end())
    throw Error::bad_input("a parameter of shape {} requires a gradient only since the exchange was recorded",
                           c10::str(parameter.sizes()));
  Bucket& bucket = buckets_[found->second];
  if (bucket.missing == 0 || --bucket.missing > 0) return;
  const device::Stream stream = current_stream(parameter.device());
  bucket.made.emplace(stream).record(stream);
}

RecordedRound::Gradients RecordedRound::gradients_of(const Bucket& bucket) const {
  Gradients gradients;
  for (const std::size_t i : bucket.members) {
    const auto& [name, parameter] = parameters_[i];
    gradients.push_back(parameter.grad());
    if (!gradients.back().defined() || gradients.back().is_sparse() || bucket.missing > 0)
      throw Error::bad_input("'{}' has no dense gradient, so the exchange cannot be recorded", name);
  }
  return gradients;
}

std::vector<std::vector<torch::Tensor>> RecordedRound::parameters() const {
  std::vector<std::vector<torch::Tensor>> all;
  for (const Bucket& bucket : buckets_) {
    all.emplace_back();
    for (const std::size_t i : bucket.members) all.back().push_back(parameters_[i].second);
  }
  return all;
}

// Whatever happens, nobody frees gradients at which a stream still is.
void RecordedRound::reduce() {
  std::vector<Gradients> all;
  for (const Bucket& bucket : buckets_) all.push_back(gradients_of(bucket));
  std::vector<device::Event> ends;
  const auto wait = [&] {
    for (std::size_t i = 0; i < ends.size(); ++i) current_stream(all[i].front().device()).wait(ends[i]);
  };
  try {
    for (std::size_t i = 0; i < buckets_.size(); ++i) ends.push_back(reduce_(i, all[i], *buckets_[i].made));
  } catch (...) {
    wait();
    throw;
  }
  wait();
}

}  // namespace ronde::parallel::detail
