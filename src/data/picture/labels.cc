#include "ronde/data/picture/labels.h"

#include <algorithm>
#include <cmath>

#include "ronde/base/error.h"

namespace ronde::data::picture {
namespace {

template <class T>
void copy_flags(const Array& labels, std::span<float> into) {
  std::ranges::transform(labels.values<T>(), into.begin(), [](T value) { return value != T{} ? 1.0f : 0.0f; });
}

void write_flags(const Array& labels, std::span<float> into) {
  if (labels.size() != into.size())
    throw Error::bad_input("'labels' is {}, but there are {} classes", to_text(labels.type(), labels.shape()),
                           into.size());
  switch (labels.type()) {
    case Type::F32: return copy_flags<float>(labels, into);
    case Type::U8: return copy_flags<std::uint8_t>(labels, into);
    case Type::I32: return copy_flags<std::int32_t>(labels, into);
    case Type::I64: return copy_flags<std::int64_t>(labels, into);
    default:
      throw Error::bad_input("'labels' must be f32, u8, i32 or i64, got {}", to_text(labels.type(), labels.shape()));
  }
}

}  // namespace

void write_target(const Sample& stored, const SampleKind& kind, const SampleSpace& into) {
  if (kind.target == Target::Labels) return write_flags(stored.at("labels"), into.flags);
  if (kind.target != Target::Class) return;
  const double number = stored.at("class").number();
  if (!(number >= 0 && number < static_cast<double>(kind.classes)) || number != std::floor(number))
    throw Error::bad_input("class {} is out of range; there are {} classes, from 0 to {}", number, kind.classes,
                           kind.classes - 1);
  into.classes[0] = static_cast<std::int64_t>(number);
}

}  // namespace ronde::data::picture
