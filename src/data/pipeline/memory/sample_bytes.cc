#include "ronde/data/pipeline/memory/sample_bytes.h"

#include <cstdint>
#include <cstring>
#include <utility>

namespace ronde::data {
namespace {

constexpr std::size_t kAlign = 64;
constexpr std::uint32_t kMostArrays = 4096, kMostDimensions = 32;

template <class T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Takes from the front, and says no for ever once there was too little.
class Taker {
 public:
  explicit Taker(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T number() {
    T value{};
    const auto piece = text(sizeof value);
    if (good_) std::memcpy(&value, piece.data(), sizeof value);
    return value;
  }
  std::string_view text(std::size_t length) {
    if (!good_ || length > bytes_.size() - at_) {
      good_ = false;
      return {};
    }
    at_ += length;
    return bytes_.substr(at_ - length, length);
  }
  void align() { text((kAlign - at_ % kAlign) % kAlign); }
  bool good() const { return good_; }
  bool at_end() const { return good_ && at_ == bytes_.size(); }

 private:
  const std::string_view bytes_;
  std::size_t at_ = 0;
  bool good_ = true;
};

}  // namespace

std::string to_bytes(const Sample& sample) {
  std::string bytes;
  append(bytes, static_cast<std::uint32_t>(sample.arrays().size()));
  for (const Sample::Named& named : sample.arrays()) {
    append(bytes, static_cast<std::uint32_t>(named.name.size()));
    bytes += named.name;
    append(bytes, static_cast<std::uint8_t>(named.array.type()));
    append(bytes, static_cast<std::uint32_t>(named.array.shape().size()));
    for (const std::int64_t length : named.array.shape()) append(bytes, length);
    bytes.resize((bytes.size() + kAlign - 1) / kAlign * kAlign);
    bytes += named.array.text();
  }
  return bytes;
}

std::optional<Sample> from_bytes(std::string_view bytes, const std::shared_ptr<const void>& owner) {
  Taker taker(bytes);
  Sample sample;
  const auto arrays = taker.number<std::uint32_t>();
  if (arrays > kMostArrays) return {};
  for (std::uint32_t i = 0; i < arrays && taker.good(); ++i) {
    const std::string name(taker.text(taker.number<std::uint32_t>()));
    const auto type = taker.number<std::uint8_t>();
    const auto dimensions = taker.number<std::uint32_t>();
    if (!taker.good() || type > static_cast<std::uint8_t>(Type::F64) || dimensions > kMostDimensions) return {};
    Shape shape;
    std::size_t size = size_of(static_cast<Type>(type));
    for (std::uint32_t d = 0; d < dimensions; ++d) {
      const auto length = taker.number<std::int64_t>();
      if (length < 0 || (length > 0 && size > bytes.size() / static_cast<std::size_t>(length))) return {};
      size *= static_cast<std::size_t>(length);
      shape.push_back(length);
    }
    taker.align();
    const std::string_view values = taker.text(size);
    if (!taker.good()) return {};
    sample.set(name, Array::view(static_cast<Type>(type), std::move(shape), values.data(), owner));
  }
  if (!taker.at_end()) return {};
  return sample;
}

}  // namespace ronde::data
