#include "ronde/models/detail/safetensors_header.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "ronde/base/error.h"

namespace ronde::models::detail {
namespace {

using Json = nlohmann::json;

struct TypeName {
  torch::ScalarType type;
  std::string_view name;
};
constexpr auto kTypes = std::to_array<TypeName>({{torch::kBool, "BOOL"},
                                                 {torch::kUInt8, "U8"},
                                                 {torch::kInt8, "I8"},
                                                 {torch::kFloat8_e5m2, "F8_E5M2"},
                                                 {torch::kFloat8_e4m3fn, "F8_E4M3"},
                                                 {torch::kInt16, "I16"},
                                                 {torch::kUInt16, "U16"},
                                                 {torch::kFloat16, "F16"},
                                                 {torch::kBFloat16, "BF16"},
                                                 {torch::kInt32, "I32"},
                                                 {torch::kUInt32, "U32"},
                                                 {torch::kFloat32, "F32"},
                                                 {torch::kComplexFloat, "C64"},
                                                 {torch::kFloat64, "F64"},
                                                 {torch::kInt64, "I64"},
                                                 {torch::kUInt64, "U64"}});
constexpr const char* kMetadata = "__metadata__";

// Bytes of a tensor; nothing when it is more than any file has.
std::optional<std::uint64_t> bytes_of(const StoredTensor& tensor) {
  std::uint64_t bytes = torch::elementSize(tensor.type);
  for (const std::int64_t extent : tensor.shape) {
    const auto times = static_cast<std::uint64_t>(extent);
    if (times != 0 && bytes > std::numeric_limits<std::int64_t>::max() / times) return {};
    bytes *= times;
  }
  return bytes;
}

class Reader {
 public:
  Reader(std::string_view text, std::uint64_t data_bytes, const std::string& file)
      : data_bytes_(data_bytes), file_(file) {
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object()) throw Error::bad_input("{}: its header is not a JSON object", file_);
    for (const auto& [name, value] : json.items()) {
      if (name == kMetadata)
        read_metadata(value);
      else
        header_.tensors.push_back(read_tensor(name, value));
    }
    std::ranges::sort(header_.tensors, {},
                      [](const StoredTensor& tensor) { return std::pair(tensor.begin, tensor.end); });
    check_places();
  }

  SafetensorsHeader take() { return std::move(header_); }

 private:
  void read_metadata(const Json& value) {
    if (!value.is_object()) throw Error::bad_input("{}: {} in its header is not a JSON object", file_, kMetadata);
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) throw Error::bad_input("{}: {} '{}' in its header is not a string", file_, kMetadata, key);
      header_.metadata[key] = text.get<std::string>();
    }
  }

  StoredTensor read_tensor(const std::string& name, const Json& value) const {
    const auto wrong = [&](std::string_view what) {
      return Error::bad_input("{}: tensor '{}' has no valid {} in the header", file_, name, what);
    };
    if (!value.is_object()) throw wrong("description");
    StoredTensor tensor{.name = name};
    const auto type = value.find("dtype"), shape = value.find("shape"), offsets = value.find("data_offsets");
    if (type == value.end() || !type->is_string()) throw wrong("dtype");
    const auto known =
        std::ranges::find(kTypes, std::string_view(type->get_ref<const std::string&>()), &TypeName::name);
    if (known == kTypes.end())
      throw Error::bad_input("{}: tensor '{}' has the unknown type {}", file_, name, type->dump());
    tensor.type = known->type;
    if (shape == value.end() || !numbers(*shape)) throw wrong("shape");
    for (const Json& extent : *shape) tensor.shape.push_back(extent.get<std::int64_t>());
    if (offsets == value.end() || !numbers(*offsets) || offsets->size() != 2) throw wrong("data_offsets");
    tensor.begin = (*offsets)[0].get<std::uint64_t>();
    tensor.end = (*offsets)[1].get<std::uint64_t>();
    check_extent(tensor);
    return tensor;
  }

  static bool numbers(const Json& list) {
    return list.is_array() && std::ranges::all_of(list, [](const Json& number) {
             return number.is_number_unsigned() &&
                    number.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max();
           });
  }

  void check_extent(const StoredTensor& tensor) const {
    if (tensor.begin > tensor.end || tensor.end > data_bytes_)
      throw Error::bad_input(
          "{}: tensor '{}' is at bytes {} to {} of the data, which has {} bytes; is the file truncated?", file_,
          tensor.name, tensor.begin, tensor.end, data_bytes_);
    const auto bytes = bytes_of(tensor);
    if (!bytes || *bytes != tensor.end - tensor.begin)
      throw Error::bad_input("{}: tensor '{}' of type {} and shape {} cannot have {} bytes", file_, tensor.name,
                             stored_name(tensor.type), c10::str(torch::IntArrayRef(tensor.shape)),
                             tensor.end - tensor.begin);
  }

  // One after the other: whatever overlaps or leaves a hole is not what its writer meant.
  void check_places() const {
    std::uint64_t at = 0;
    for (const StoredTensor& tensor : header_.tensors) {
      if (tensor.begin != at)
        throw Error::bad_input("{}: tensor '{}' begins at byte {} of the data, but the one before it ends at {}", file_,
                               tensor.name, tensor.begin, at);
      at = tensor.end;
    }
    if (at != data_bytes_)
      throw Error::bad_input("{}: the last tensor ends at byte {} of the data, which has {} bytes", file_, at,
                             data_bytes_);
  }

  const std::uint64_t data_bytes_;
  const std::string& file_;
  SafetensorsHeader header_;
};

}  // namespace

std::string_view stored_name(torch::ScalarType type) {
  const auto known = std::ranges::find(kTypes, type, &TypeName::type);
  if (known == kTypes.end())
    throw Error::bad_input("tensors of type {} cannot be stored as safetensors", torch::toString(type));
  return known->name;
}

SafetensorsHeader parse_header(std::string_view text, std::uint64_t data_bytes, const std::string& file) {
  return Reader(text, data_bytes, file).take();
}

std::string header_text(const SafetensorsHeader& header) {
  Json json = Json::object();
  if (!header.metadata.empty()) json[kMetadata] = header.metadata;
  for (const StoredTensor& tensor : header.tensors)
    json[tensor.name] = {
        {"dtype", stored_name(tensor.type)}, {"shape", tensor.shape}, {"data_offsets", {tensor.begin, tensor.end}}};
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((text.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');
  return text;
}

}  // namespace ronde::models::detail
