#include "ronde/data/formats/proto/datum.h"

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/data/formats/proto/proto.h"

namespace ronde::data::files {
namespace {

constexpr std::int64_t kMostExtent = 1 << 20;

struct Datum {
  std::int64_t channels = 0, height = 0, width = 0, label = 0;
  bool has_label = false, encoded = false;
  std::string_view data = {};
  std::vector<float> floats = {};
};

// Protocol buffers keep an int32 below 0 in ten bytes, its sign carried on.
std::int64_t signed_number(std::uint64_t value) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
}

void take_floats(const ProtoReader& reader, const ProtoReader::Field& field, std::vector<float>& floats) {
  if (field.wire == ProtoReader::Wire::Fixed32) {
    floats.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(field.value)));
    return;
  }
  ProtoReader packed = reader.inside(field);
  while (!packed.done()) floats.push_back(std::bit_cast<float>(packed.take_fixed32()));
}

Datum fields_of(std::string_view bytes, const std::string& name) {
  Datum datum;
  ProtoReader reader(bytes, name);
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1: datum.channels = signed_number(reader.varint(*field)); break;
      case 2: datum.height = signed_number(reader.varint(*field)); break;
      case 3: datum.width = signed_number(reader.varint(*field)); break;
      case 4: datum.data = reader.bytes(*field); break;
      case 5:
        datum.label = signed_number(reader.varint(*field));
        datum.has_label = true;
        break;
      case 6: take_floats(reader, *field, datum.floats); break;
      case 7: datum.encoded = reader.varint(*field) != 0; break;
      default: break;  // something newer
    }
  }
  return datum;
}

// Caffe keeps channel by channel; everyone else here has the channels of a pixel together.
template <class Value>
Array pixels_of(const Value* planes, const Datum& datum) {
  Array pixels(type_of<Value>(), {datum.height, datum.width, datum.channels});
  const auto to = pixels.template values<Value>();
  const auto area = static_cast<std::size_t>(datum.height * datum.width);
  const auto channels = static_cast<std::size_t>(datum.channels);
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t i = 0; i < area; ++i) to[i * channels + c] = planes[c * area + i];
  return pixels;
}

void check_extents(const Datum& datum, const std::string& name) {
  for (const std::int64_t extent : {datum.channels, datum.height, datum.width})
    if (extent < 1 || extent > kMostExtent)
      throw Error::bad_input("{}: invalid Datum size: {} channels, {} rows and {} columns", name, datum.channels,
                             datum.height, datum.width);
  const std::size_t there = datum.data.empty() ? datum.floats.size() : datum.data.size();
  const auto said = static_cast<std::size_t>(datum.channels * datum.height * datum.width);  // below 2^60
  if (there != said)
    throw Error::bad_input("{}: a Datum of {} x {} x {} should have {} values, but has {}", name, datum.channels,
                           datum.height, datum.width, said, there);
}

}  // namespace

Sample parse_datum(std::string_view bytes, const std::string& name, std::shared_ptr<const void> owner) {
  const Datum datum = fields_of(bytes, name);
  Sample sample;
  if (datum.encoded) {
    if (datum.data.empty()) throw Error::bad_input("{}: a Datum with an empty encoded picture", name);
    sample.set("image", Array::view(Type::U8, {static_cast<std::int64_t>(datum.data.size())}, datum.data.data(),
                                    std::move(owner)));
  } else {
    check_extents(datum, name);
    sample.set("image", datum.data.empty()
                            ? pixels_of(datum.floats.data(), datum)
                            : pixels_of(reinterpret_cast<const std::uint8_t*>(datum.data.data()), datum));
  }
  if (datum.has_label) sample.set("label", Array::scalar<std::int64_t>(datum.label));
  return sample;
}

}  // namespace ronde::data::files
