#include "ronde/data/dataset.h"

#include "ronde/base/error.h"
#include "ronde/data/pipeline/build.h"

namespace ronde::data {
namespace {

class FunctionRecords : public Records {
 public:
  FunctionRecords(std::int64_t samples, std::function<Sample(std::int64_t)> sample, std::string name)
      : samples_(samples), sample_(std::move(sample)), name_(std::move(name)) {}
  std::string name() const override { return name_; }
  std::int64_t size() const override { return samples_; }
  Sample read(std::int64_t index) const override { return sample_(index); }
  std::size_t bytes(std::int64_t) const override { return 0; }
  std::string where(std::int64_t index) const override { return fmt::format("{}, sample {}", name_, index); }

 private:
  const std::int64_t samples_;
  const std::function<Sample(std::int64_t)> sample_;
  const std::string name_;
};

// What makes samples by itself, as the decoder of records that hold nothing.
class SourceDecoder : public Decoder {
 public:
  explicit SourceDecoder(std::shared_ptr<const Source> source) : source_(std::move(source)) {}
  SampleKind kind() const override { return source_->kind(); }
  std::size_t scratch_bytes(const Sample&, const Draw&) const override { return 0; }
  void decode(const Sample&, const Draw& draw, const SampleSpace& into) const override {
    source_->read(draw.index, draw.epoch, into);
  }
  bool filled_once() const override { return source_->filled_once(); }

 private:
  const std::shared_ptr<const Source> source_;
};

class ZippedRecords : public Records {
 public:
  ZippedRecords(std::shared_ptr<const Records> first, std::shared_ptr<const Records> second)
      : first_(std::move(first)), second_(std::move(second)) {}
  std::string name() const override { return fmt::format("zip of {} and {}", first_->name(), second_->name()); }
  std::int64_t size() const override { return std::min(first_->size(), second_->size()); }
  Sample read(std::int64_t index) const override;
  std::size_t bytes(std::int64_t index) const override { return first_->bytes(index) + second_->bytes(index); }
  std::string where(std::int64_t index) const override {
    return fmt::format("{} and {}", first_->where(index), second_->where(index));
  }
  std::string key(std::int64_t index) const override { return first_->key(index); }
  std::vector<std::string> classes() const override { return first_->classes(); }

 private:
  const std::shared_ptr<const Records> first_, second_;
};

Sample together(Sample first, const Sample& second) {
  for (const Sample::Named& named : second.arrays()) {
    if (first.find(named.name))
      throw Error::bad_input("zip: both datasets have an array '{}'; rename one of them with map", named.name);
    first.set(named.name, named.array);
  }
  return first;
}

Sample ZippedRecords::read(std::int64_t index) const {
  return together(first_->read(index), second_->read(index));
}

}  // namespace

Dataset records(std::shared_ptr<const Records> records) {
  Origin origin;
  origin.name = records->name();
  origin.records = std::move(records);
  return origin;
}

Dataset from_files(const RecordsOptions& options) {
  Origin origin;
  origin.records = open_records(options);
  origin.name = origin.records->name();
  origin.path = options.path;
  return origin;
}

Dataset function(std::int64_t samples, std::function<Sample(std::int64_t)> sample, std::string name) {
  if (samples < 0) throw Error::bad_input("{}: number of samples must not be negative, got {}", name, samples);
  return records(std::make_shared<FunctionRecords>(samples, std::move(sample), std::move(name)));
}

Dataset from_source(std::shared_ptr<const Source> source) {
  Origin origin;
  origin.name = source->name();
  if (const StoredParts* stored = source->stored()) {
    origin.records = stored->records;
    const auto index = [source](std::int64_t place) { return source->stored_index(place); };
    return Dataset(std::move(origin)) | select(source->size(), index) | random_seed(stored->seed) |
           map(stored->decoder);
  }
  const auto empty = [](std::int64_t) { return Sample(); };
  origin.records = std::make_shared<FunctionRecords>(source->size(), empty, source->name());
  origin.made = true;
  return Dataset(std::move(origin)) |
         map(std::make_shared<const SourceDecoder>(source), {.name = "make", .threads = 1});
}

Dataset known(const SourceOptions& options) {
  return from_source(open_source(options));
}

Dataset generator(std::function<NextSample(std::int64_t epoch)> restart, std::string name) {
  Origin origin;
  origin.name = std::move(name);
  origin.restart = std::move(restart);
  return origin;
}

Dataset zip(Dataset first, Dataset second) {
  const bool plain = first.steps().empty() && second.steps().empty();
  if (plain && first.origin().records && second.origin().records)
    return records(std::make_shared<ZippedRecords>(first.origin().records, second.origin().records));
  Origin origin;
  origin.name = fmt::format("zip of {} and {}", first.origin().name, second.origin().name);
  origin.inside = 2;
  origin.open = [first, second](std::int64_t epoch, const NestedOptions& inside) -> NextSample {
    const auto open = [&](const Dataset& dataset) {
      return std::make_shared<PipelineBuilder>(dataset.origin(), dataset.steps(), inside.options,
                                               PipelineBuilder::Choice{.only_epoch = epoch, .all = inside.all});
    };
    return [one = open(first), other = open(second)]() -> std::optional<Sample> {
      auto sample = one->next();
      if (!sample) return {};
      auto more = other->next();
      if (!more) return {};
      return together(std::move(*sample), *more);
    };
  };
  return origin;
}

}  // namespace ronde::data
