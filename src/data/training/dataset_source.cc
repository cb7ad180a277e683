#include "ronde/data/training/dataset_source.h"

#include <algorithm>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/data/samples/to_floats.h"
#include "ronde/data/stored_source.h"

namespace ronde::data {
namespace {

std::string text_of(const Array& array) {
  return to_text(array.type(), array.shape());
}

Target target_of(const Array* target, const Shape& input) {
  if (!target) return Target::Input;
  if (target->type() != Type::I64) return Target::Values;
  if (target->shape().empty() || target->shape() == Shape{1}) return Target::Class;
  const bool pixels = input.size() == 3 && target->shape() == Shape{input[1], input[2]};
  return pixels ? Target::Mask : Target::Values;
}

// As layers of a network count them: a row has channels, a table has channels and columns.
void set_shape(SampleKind& kind, const Shape& shape) {
  kind.features_shape = shape.empty() ? Shape{1} : shape;
  kind.channels = kind.features_shape[0];
  kind.height = shape.size() > 2 ? shape[1] : 1;
  kind.width = kind.channels == 0 ? 0 : values_in(shape) / (kind.channels * kind.height);
}

SampleKind kind_of(const Sample& first, const DatasetArrays& arrays) {
  const Array& input = first.at(arrays.input);
  const Array* target = first.find(arrays.target);
  SampleKind kind{.target = target_of(target, input.shape())};
  if (input.empty()) throw Error::bad_input("'{}' is {}, which holds no numbers", arrays.input, text_of(input));
  if (target && target->empty())
    throw Error::bad_input("'{}' is {}, which holds no numbers", arrays.target, text_of(*target));
  set_shape(kind, input.shape());
  kind.classes = std::max<std::int64_t>(arrays.classes, 1);
  if (kind.target == Target::Values) {
    kind.values_shape = target->shape().empty() ? Shape{1} : target->shape();
    kind.classes = values_in(kind.values_shape);
  } else if (kind.target != Target::Input && arrays.classes < 2) {
    throw Error::bad_input("'{}' is {}, a class: say how many classes there are, at least 2", arrays.target,
                           text_of(*target));
  }
  return kind;
}

// The steps of a dataset on each sample, and then its arrays into the memory of a batch.
class DatasetDecoder : public Decoder {
 public:
  DatasetDecoder(std::vector<steps::SampleFunction> functions, std::shared_ptr<const Decoder> last,
                 DatasetArrays arrays)
      : functions_(std::move(functions)), last_(std::move(last)), arrays_(std::move(arrays)) {}

  void look_at(const Records& records, std::uint64_t seed) {
    kind_ = last_ ? last_->kind() : kind_of(mapped(records.read(0), {seed, 0, 0}), arrays_);
  }

  SampleKind kind() const override { return kind_; }
  bool draws() const override { return last_ && last_->draws(); }
  std::size_t scratch_bytes(const Sample& stored, const Draw& draw) const override {
    return last_ ? last_->scratch_bytes(mapped(stored, draw), draw) : 0;
  }

  void decode(const Sample& stored, const Draw& draw, const SampleSpace& into) const override {
    const Sample sample = mapped(stored, draw);
    if (last_) return last_->decode(sample, draw, into);
    put(arrays_.input, sample, kind_.features_shape, into.features);
    if (kind_.target == Target::Values) put(arrays_.target, sample, kind_.values_shape, into.flags);
    if (!into.classes.empty()) put_classes(sample.at(arrays_.target), into.classes);
  }

 private:
  Sample mapped(Sample sample, const Draw& draw) const {
    for (const auto& function : functions_) sample = function(std::move(sample), draw);
    return sample;
  }

  static void put(const std::string& name, const Sample& sample, const Shape& shape, std::span<float> into) {
    const Array& array = sample.at(name);
    if (array.size() != into.size())
      throw Error::bad_input("its '{}' is {}, but that of the first sample is {}", name, text_of(array),
                             to_text(array.type(), shape));
    to_floats(array, into);
  }

  void put_classes(const Array& array, std::span<std::int64_t> into) const {
    if (array.type() != Type::I64 || array.size() != into.size())
      throw Error::bad_input("its '{}' is {}, but that of the first sample holds {} numbers of i64", arrays_.target,
                             text_of(array), into.size());
    for (std::size_t i = 0; i < into.size(); ++i) {
      into[i] = array.values<std::int64_t>()[i];
      if (arrays_.ignore >= 0 && into[i] == arrays_.ignore) continue;
      if (into[i] < 0 || into[i] >= kind_.classes)
        throw Error::bad_input("its class is {}, but there are {} classes: they count from 0", into[i], kind_.classes);
    }
  }

  const std::vector<steps::SampleFunction> functions_;
  const std::shared_ptr<const Decoder> last_;
  const DatasetArrays arrays_;
  SampleKind kind_;
};

[[noreturn]] void refuse(const Dataset& dataset, const Step& step) {
  throw Error::bad_input(
      "the dataset '{}' has a step '{}', but a training takes only map(), and a decoder as the last step: it orders, "
      "divides and batches samples itself",
      dataset.origin().name, name(step));
}

class AugmentingDecoder : public Decoder {
 public:
  AugmentingDecoder(std::shared_ptr<const Decoder> inner, std::vector<Augment> functions)
      : inner_(std::move(inner)), functions_(std::move(functions)) {}
  SampleKind kind() const override { return inner_->kind(); }
  bool draws() const override { return true; }
  std::size_t scratch_bytes(const Sample& stored, const Draw& draw) const override {
    return inner_->scratch_bytes(stored, draw);
  }
  void decode(const Sample& stored, const Draw& draw, const SampleSpace& into) const override {
    inner_->decode(stored, draw, into);
    apply(functions_, inner_->kind(), draw, into);
  }

  static void apply(const std::vector<Augment>& functions, const SampleKind& kind, const Draw& draw,
                    const SampleSpace& into) {
    std::uint64_t number = 0;
    for (const Augment& function : functions) {
      Random random(mix(draw.seed ^ mix(++number)), static_cast<std::uint64_t>(draw.epoch),
                    static_cast<std::uint64_t>(draw.index));
      function(into, kind, random);
    }
  }

 private:
  const std::shared_ptr<const Decoder> inner_;
  const std::vector<Augment> functions_;
};

class Augmented : public Source {
 public:
  Augmented(std::unique_ptr<Source> inner, std::vector<Augment> functions, std::uint64_t seed)
      : inner_(std::move(inner)), functions_(std::move(functions)), seed_(seed) {
    if (const StoredParts* stored = inner_->stored()) {
      stored_ = *stored;
      stored_->decoder = std::make_shared<AugmentingDecoder>(stored->decoder, functions_);
    }
  }
  std::string name() const override { return inner_->name(); }
  SampleKind kind() const override { return inner_->kind(); }
  std::int64_t size() const override { return inner_->size(); }
  const StoredParts* stored() const override { return stored_ ? &*stored_ : nullptr; }
  std::int64_t stored_index(std::int64_t index) const override { return inner_->stored_index(index); }
  void read(std::int64_t index, std::int64_t epoch, const SampleSpace& into) const override {
    inner_->read(index, epoch, into);
    const Draw draw = stored_ ? Draw{stored_->seed, epoch, stored_index(index)} : Draw{seed_, epoch, index};
    AugmentingDecoder::apply(functions_, kind(), draw, into);
  }

 private:
  const std::unique_ptr<Source> inner_;
  const std::vector<Augment> functions_;
  const std::uint64_t seed_;
  std::optional<StoredParts> stored_;
};

}  // namespace

std::unique_ptr<Source> source_of(const Dataset& dataset, const DatasetArrays& arrays, std::uint64_t seed) {
  const auto& records = dataset.origin().records;
  if (!records)
    throw Error::bad_input(
        "the samples of the dataset '{}' come one after the other; a training needs them by index: take function(), or "
        "files",
        dataset.origin().name);
  if (records->size() == 0) throw Error::bad_input("the dataset '{}' has no samples", dataset.origin().name);
  std::vector<steps::SampleFunction> functions;
  std::shared_ptr<const Decoder> last;
  for (const Step& step : dataset.steps()) {
    const auto* map = std::get_if<steps::Map>(&step);
    const auto* decode = std::get_if<steps::Decode>(&step);
    if (last || (!map && !decode)) refuse(dataset, step);
    if (map) functions.push_back(map->function);
    if (decode) last = decode->decoder;
  }
  auto decoder = std::make_shared<DatasetDecoder>(std::move(functions), std::move(last), arrays);
  try {
    decoder->look_at(*records, seed);
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::BadInput) throw;
    throw Error::bad_input("the first sample of the dataset '{}': {}", dataset.origin().name, error.message());
  }
  return std::make_unique<StoredSource>(StoredParts{.records = records, .decoder = std::move(decoder), .seed = seed},
                                        0);
}

std::unique_ptr<Source> augmented(std::unique_ptr<Source> source, std::vector<Augment> functions, std::uint64_t seed) {
  const SampleKind kind = source->kind();
  if (kind.u8 || kind.bf16)
    throw Error::bad_input("the samples of {} are not f32 when they are augmented: set data.on_device = off",
                           source->name());
  return std::make_unique<Augmented>(std::move(source), std::move(functions), seed);
}

}  // namespace ronde::data
