#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "ronde/models/tensor_map.h"

// Named tensors in a file, in the format that Hugging Face's library of this name and many other programs read and
// write: the length of a header, the header (JSON), the values one tensor after the other.
namespace ronde::models {

struct Safetensors {
  TensorMap tensors = {};
  std::map<std::string, std::string> metadata = {};  // what the header says under __metadata__
};

// The bytes of a file as they come, piece by piece.
using ByteSink = std::function<void(std::span<const std::byte>)>;

// Reads a file into memory of its own, checking all that it says: a bad one may come from anywhere. `see`, where given,
// gets every byte of the file in order, such as for a checksum.
// FAILS WITH: System (cannot be read), BadInput (cut short, no such header, offsets that overlap, leave holes or lie
// outside, a type that torch has not), naming file, tensor and place.
Safetensors read_safetensors(const std::filesystem::path& file, const ByteSink& see = nullptr);

// Hands the bytes of a file that holds `content` to `sink`. Tensors of other layouts or on other devices are copied, one
// at a time. FAILS WITH: BadInput for a type that the format has not, a sparse tensor; what `sink` throws.
void write_safetensors(const Safetensors& content, const ByteSink& sink);

// The same into a file, which is overwritten. FAILS WITH: System.
void write_safetensors(const Safetensors& content, const std::filesystem::path& file);

// Bytes of the values of a tensor in such a file.
std::size_t stored_bytes(const torch::Tensor& tensor);

}  // namespace ronde::models
