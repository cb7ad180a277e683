#include "ronde/data/pipeline/stack.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "ronde/base/error.h"

namespace ronde::data {
namespace {

// The shape that holds all arrays of a name.
Shape common_shape(std::span<const Item> items, const std::string& name, bool pad) {
  const Array& first = items.front().sample.at(name);
  Shape shape = first.shape();
  for (const Item& item : items) {
    const Array& array = item.sample.at(name);
    const bool fits = pad ? array.shape().size() == shape.size() : array.shape() == shape;
    if (array.type() != first.type() || !fits)
      throw Error::bad_input("'{}' is {} in one sample and {} in another, so they cannot form a batch{}", name,
                             to_text(first.type(), first.shape()), to_text(array.type(), array.shape()),
                             pad ? "" : ": give them one shape with map, or let batch pad them");
    for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = std::max(shape[i], array.shape()[i]);
  }
  return shape;
}

// Copies an array into the corner of a larger one that is zero, row by row.
void put(const Array& array, std::byte* into, const Shape& shape) {
  const std::size_t each = size_of(array.type());
  const auto* from = static_cast<const std::byte*>(array.data());
  if (array.shape() == shape) {
    if (array.bytes() > 0) std::memcpy(into, from, array.bytes());
    return;
  }
  if (array.empty()) return;
  const std::size_t row = static_cast<std::size_t>(array.shape().back()) * each;
  const std::size_t rows = array.bytes() / row;
  for (std::size_t r = 0; r < rows; ++r) {
    std::size_t rest = r, place = 0, stride = static_cast<std::size_t>(shape.back()) * each;
    for (std::size_t d = shape.size() - 1; d-- > 0;) {
      place += rest % static_cast<std::size_t>(array.shape()[d]) * stride;
      rest /= static_cast<std::size_t>(array.shape()[d]);
      stride *= static_cast<std::size_t>(shape[d]);
    }
    std::memcpy(into + place, from + r * row, row);
  }
}

}  // namespace

Sample stack(std::span<const Item> items, bool pad) {
  Sample stacked;
  const Sample& first = items.front().sample;
  for (const Sample::Named& named : first.arrays()) {
    const Shape shape = common_shape(items, named.name, pad);
    Shape whole = {std::ssize(items)};
    whole.insert(whole.end(), shape.begin(), shape.end());
    Array array(named.array.type(), whole);
    const std::size_t each = array.bytes() / items.size();
    auto* into = static_cast<std::byte*>(array.writable());
    if (pad) std::memset(into, 0, array.bytes());
    for (const Item& item : items) {
      put(item.sample.at(named.name), into, shape);
      into += each;
    }
    stacked.set(named.name, std::move(array));
  }
  return stacked;
}

std::vector<Sample> unstack(const Sample& stacked) {
  std::vector<Sample> singles;
  for (const Sample::Named& named : stacked.arrays()) {
    const Array& array = named.array;
    if (array.shape().empty())
      throw Error::bad_input("'{}' is a single number, so unbatch cannot split it", named.name);
    const auto count = static_cast<std::size_t>(array.shape().front());
    if (singles.empty()) singles.resize(count);
    if (singles.size() != count)
      throw Error::bad_input("'{}' has {} samples but other arrays have {}, so unbatch cannot split them", named.name,
                             count, singles.size());
    const Shape shape(array.shape().begin() + 1, array.shape().end());
    const auto owner = std::make_shared<const Array>(array);
    for (std::size_t i = 0; i < count; ++i) {
      const auto* memory = static_cast<const std::byte*>(array.data()) + i * (array.bytes() / count);
      singles[i].set(named.name, Array::view(array.type(), shape, memory, owner));
    }
  }
  return singles;
}

namespace {

// The arrays of one sample of a kind; `batch`: of so many, one after the other.
struct Named {
  const char* name;
  Type type;
  Shape shape;
};

std::vector<Named> arrays_of(const SampleKind& kind) {
  if (kind.u8) throw Error::bad_input("pictures that are left as bytes come by next_batch(), not as arrays");
  std::vector<Named> arrays;
  const Shape image = kind.layout == Layout::ChannelsLast ? Shape{kind.height, kind.width, kind.channels}
                                                          : Shape{kind.channels, kind.height, kind.width};
  arrays.push_back({"image", kind.bf16 ? Type::BF16 : Type::F32, image});
  if (kind.target == Target::Class) arrays.push_back({"class", Type::I64, {}});
  if (kind.target == Target::Mask) arrays.push_back({"mask", Type::I64, {kind.height, kind.width}});
  if (kind.target == Target::Labels) arrays.push_back({"labels", Type::F32, {kind.classes}});
  return arrays;
}

}  // namespace

Sample as_sample(std::shared_ptr<const Batch> batch) {
  Sample sample;
  for (const Named& named : arrays_of(batch->facts().kind)) {
    const void* memory = named.type == Type::BF16  ? static_cast<const void*>(batch->features16().data())
                         : named.type == Type::I64 ? static_cast<const void*>(batch->classes().data())
                         : named.name == std::string_view("labels")
                             ? static_cast<const void*>(batch->flags().data())
                             : static_cast<const void*>(batch->features().data());
    Shape shape = {batch->size()};
    shape.insert(shape.end(), named.shape.begin(), named.shape.end());
    sample.set(named.name, Array::view(named.type, std::move(shape), memory, batch));
  }
  return sample;
}

Sample decode_sample(const Decoder& decoder, const Sample& stored, const Draw& draw) {
  Sample sample;
  SampleSpace into;
  for (const Named& named : arrays_of(decoder.kind())) {
    Array array(named.type, named.shape);
    if (named.type == Type::BF16)
      into.features16 = array.values<Bf16>();
    else if (named.type == Type::I64)
      into.classes = array.values<std::int64_t>();
    else if (named.name == std::string_view("labels"))
      into.flags = array.values<float>();
    else
      into.features = array.values<float>();
    sample.set(named.name, std::move(array));
  }
  decoder.decode(stored, draw, into);
  return sample;
}

}  // namespace ronde::data
