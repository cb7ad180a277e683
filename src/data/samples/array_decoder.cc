#include <algorithm>
#include <string>

#include "ronde/base/error.h"
#include "ronde/data/picture/decoder.h"
#include "ronde/data/samples/to_floats.h"
#include "ronde/data/stored_source.h"

namespace ronde::data {
namespace {

const Array& features_of(const Sample& sample) {
  const Array* image = sample.find("image");
  return image ? *image : sample.at("features");
}

class ArrayDecoder : public Decoder {
 public:
  ArrayDecoder(const Shape& shape, Target target, std::int64_t classes) : shape_(shape) {
    kind_.classes = classes;
    kind_.target = target;
    kind_.width = shape.empty() ? 1 : shape.back();
    kind_.height = shape.size() > 1 ? shape[shape.size() - 2] : 1;
    kind_.channels = shape.size() > 2 ? shape[0] : 1;
  }

  SampleKind kind() const override { return kind_; }
  std::size_t scratch_bytes(const Sample&, const Draw&) const override { return 0; }

  void decode(const Sample& stored, const Draw&, const SampleSpace& into) const override {
    const Array& image = features_of(stored);
    if (image.shape() != shape_)
      throw Error::bad_input("its features are {}, but those of the first sample are {}",
                             to_text(image.type(), image.shape()), to_text(image.type(), shape_));
    to_floats(image, into.features);
    if (kind_.target == Target::Class) into.classes[0] = class_of(stored.at("class"));
    if (kind_.target == Target::Labels) {
      const Array& labels = stored.at("labels");
      if (labels.size() != into.flags.size())
        throw Error::bad_input("it has {} labels, but data.classes is {}", labels.size(), into.flags.size());
      to_floats(labels, into.flags);
    }
  }

 private:
  std::int64_t class_of(const Array& array) const {
    const double number = array.number();
    if (!(number >= 0 && number < static_cast<double>(kind_.classes)))
      throw Error::bad_input("its class is {}, but data.classes is {}: classes count from 0", number, kind_.classes);
    return static_cast<std::int64_t>(number);
  }

  const Shape shape_;
  SampleKind kind_;
};

}  // namespace

std::unique_ptr<Decoder> make_array_decoder(const Sample& first, Target target, std::int64_t classes) {
  if (target == Target::Mask) throw Error::bad_input("data.target = mask is not supported for samples from files");
  const Array& image = features_of(first);
  if (image.shape().size() > 3)
    throw Error::bad_input("features of {} have too many dimensions: they must be [n], [h,w] or [c,h,w]",
                           to_text(image.type(), image.shape()));
  return std::make_unique<ArrayDecoder>(image.shape(), target, classes);
}

}  // namespace ronde::data
