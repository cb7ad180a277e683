#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <torch/torch.h>

namespace ronde::models::detail {

// What a header says about one tensor. Offsets count from the end of the header.
struct StoredTensor {
  std::string name;
  torch::ScalarType type = torch::kFloat32;
  std::vector<std::int64_t> shape = {};
  std::uint64_t begin = 0, end = 0;
};

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors = {};  // in the order of their places, without gaps
  std::map<std::string, std::string> metadata = {};
};

// A file begins with the length of its header in eight bytes, lowest first. Nobody needs headers above this one.
inline constexpr std::uint64_t kLengthBytes = 8, kLongestHeader = 100'000'000;

// FAILS WITH: BadInput, naming `file`, for a header that is none, or whose tensors do not fill `data_bytes` one after
// the other.
SafetensorsHeader parse_header(std::string_view text, std::uint64_t data_bytes, const std::string& file);

// With blanks at its end, so that values begin at a multiple of eight bytes. FAILS WITH: BadInput for a type that the
// format has not.
std::string header_text(const SafetensorsHeader& header);

std::string_view stored_name(torch::ScalarType type);  // "F32". FAILS WITH: BadInput

}  // namespace ronde::models::detail
