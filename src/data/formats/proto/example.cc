#include "ronde/data/formats/proto/example.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/wire/proto_writer.h"
#include "ronde/data/formats/proto/proto.h"
#include "ronde/data/formats/typed.h"

namespace ronde::data::files {
namespace {

// Example { Features features = 1; }  Features { map<string, Feature> feature = 1; }
// Feature { oneof: BytesList = 1, FloatList = 2, Int64List = 3 }, each { repeated ... value = 1; }
enum List : std::uint32_t { kBytes = 1, kFloats = 2, kIntegers = 3 };
using Field = ProtoReader::Field;
using Wire = ProtoReader::Wire;

constexpr std::string_view kShape = "/shape", kType = "/type";

template <class Number>
Array array_of(const std::vector<Number>& values) {
  Array array(type_of<Number>(), values.size() == 1 ? Shape{} : Shape{static_cast<std::int64_t>(values.size())});
  std::ranges::copy(values, array.template values<Number>().begin());
  return array;
}

Array floats(ProtoReader list) {
  std::vector<float> values;
  while (const auto field = list.next()) {
    if (field->number != 1) continue;
    if (field->wire == Wire::Fixed32) {  // not packed
      values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(field->value)));
      continue;
    }
    ProtoReader packed = list.inside(*field);
    values.reserve(values.size() + packed.left() / 4);
    while (!packed.done()) values.push_back(std::bit_cast<float>(packed.take_fixed32()));
  }
  return array_of(values);
}

Array integers(ProtoReader list) {
  std::vector<std::int64_t> values;
  while (const auto field = list.next()) {
    if (field->number != 1) continue;
    if (field->wire == Wire::Varint) {
      values.push_back(static_cast<std::int64_t>(field->value));
      continue;
    }
    ProtoReader packed = list.inside(*field);
    while (!packed.done()) values.push_back(static_cast<std::int64_t>(packed.take_varint()));
  }
  return array_of(values);
}

class ExampleParser {
 public:
  ExampleParser(std::string name, std::shared_ptr<const void> owner)
      : name_(std::move(name)), owner_(std::move(owner)) {}

  Sample parse(std::string_view bytes) {
    ProtoReader example(bytes, name_);
    while (const auto field = example.next()) {
      if (field->number != 1) continue;
      ProtoReader features = example.inside(*field);
      while (const auto entry = features.next())
        if (entry->number == 1) add_entry(features.inside(*entry));
    }
    restore_shapes();
    return std::move(sample_);
  }

 private:
  void add_entry(ProtoReader entry) {
    std::string_view key;
    std::optional<ProtoReader> feature;
    while (const auto field = entry.next()) {
      if (field->number == 1) key = entry.bytes(*field);
      if (field->number == 2) feature = entry.inside(*field);
    }
    if (key.empty()) throw Error::bad_input("{}: before byte {}: a feature has no name", name_, entry.offset());
    if (feature) add_feature(std::string(key), *feature);
  }

  void add_feature(const std::string& key, ProtoReader feature) {
    while (const auto field = feature.next()) {
      if (field->number == kBytes) add_bytes(key, feature.inside(*field));
      if (field->number == kFloats) add_numbers(key, floats(feature.inside(*field)));
      if (field->number == kIntegers) add_numbers(key, integers(feature.inside(*field)));
    }
  }

  void add_numbers(const std::string& key, Array array) {
    if (!array.empty()) sample_.set(key, std::move(array));
  }

  void add_bytes(const std::string& key, ProtoReader list) {
    std::vector<std::string_view> values;
    while (const auto field = list.next())
      if (field->number == 1) values.push_back(list.bytes(*field));
    for (std::size_t i = 0; i < values.size(); ++i)
      sample_.set(values.size() == 1 ? key : key + "/" + std::to_string(i),
                  Array::view(Type::U8, {static_cast<std::int64_t>(values[i].size())}, values[i].data(), owner_));
  }

  // Arrays that came with a shape and a type get them back.
  void restore_shapes() {
    std::vector<std::string> typed;
    for (const auto& [name, array] : sample_.arrays())
      if (name.ends_with(kType) && array.type() == Type::U8)
        typed.push_back(name.substr(0, name.size() - kType.size()));
    for (const std::string& name : typed) {
      const Array* bytes = sample_.find(name);
      const Array* shape = sample_.find(name + std::string(kShape));
      const auto type = parse_type(sample_.at(name + std::string(kType)).text());
      if (!bytes || !type || bytes->type() != Type::U8) continue;  // someone else's "type"
      if (shape && shape->type() != Type::I64) continue;
      Shape extents;
      if (shape) extents.assign(shape->values<std::int64_t>().begin(), shape->values<std::int64_t>().end());
      Array array = from_bytes(*type, std::move(extents), *bytes, fmt::format("{}: '{}'", name_, name));
      sample_.set(name, std::move(array));
      sample_.erase(name + std::string(kShape));
      sample_.erase(name + std::string(kType));
    }
  }

  const std::string name_;
  const std::shared_ptr<const void> owner_;
  Sample sample_;
};

void append_feature(std::string& features, std::string_view key, List list, std::string_view values) {
  std::string feature, entry;
  ProtoWriter(feature).bytes(list, values);
  ProtoWriter(entry).bytes(1, key);
  ProtoWriter(entry).bytes(2, feature);
  ProtoWriter(features).bytes(1, entry);
}

void append_bytes(std::string& features, std::string_view key, std::string_view bytes) {
  std::string list;
  ProtoWriter(list).bytes(1, bytes);
  append_feature(features, key, kBytes, list);
}

void append_integers(std::string& features, std::string_view key, std::span<const std::int64_t> values) {
  std::string packed, list;
  for (const std::int64_t value : values) ProtoWriter(packed).packed(static_cast<std::uint64_t>(value));
  ProtoWriter(list).bytes(1, packed);
  append_feature(features, key, kIntegers, list);
}

// Whether parse_example would give an array of numbers back without being told its type and shape.
bool is_plain(const Array& array) {
  if (array.type() != Type::F32 && array.type() != Type::I64) return false;
  return array.shape().empty() || (array.shape().size() == 1 && array.size() > 1);
}

void append_array(std::string& features, const std::string& name, const Array& array) {
  if (array.type() == Type::U8 && array.shape().size() == 1) return append_bytes(features, name, array.text());
  if (is_plain(array) && array.type() == Type::I64)
    return append_integers(features, name, array.values<std::int64_t>());
  if (is_plain(array)) {
    std::string list;
    ProtoWriter(list).bytes(1, array.text());
    return append_feature(features, name, kFloats, list);
  }
  append_bytes(features, name, array.text());
  append_bytes(features, name + std::string(kType), data::name(array.type()));
  if (!array.shape().empty()) append_integers(features, name + std::string(kShape), array.shape());
}

}  // namespace

Sample parse_example(std::string_view bytes, const std::string& name, std::shared_ptr<const void> owner) {
  return ExampleParser(name, std::move(owner)).parse(bytes);
}

std::string encode_example(const Sample& sample) {
  std::string features, example;
  for (const auto& [name, array] : sample.arrays()) append_array(features, name, array);
  ProtoWriter(example).bytes(1, features);
  return example;
}

}  // namespace ronde::data::files
