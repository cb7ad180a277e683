#include "ronde/models/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/system/file_descriptor.h"
#include "ronde/models/detail/safetensors_header.h"

namespace ronde::models {
namespace {

using detail::kLengthBytes;
using detail::SafetensorsHeader;
using detail::StoredTensor;

static_assert(std::endian::native == std::endian::little, "the format is little-endian, and so are we");

// Reads a file from its beginning to its end.
class Input {
 public:
  Input(const std::filesystem::path& file, const ByteSink& see)
      : name_(file.string()), see_(see), file_(open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat status = {};
    if (!file_ || fstat(file_.get(), &status) != 0) throw Error::system(errno, "cannot open {}", name_);
    if (!S_ISREG(status.st_mode)) throw Error::bad_input("{} is not a file", name_);
    left_ = static_cast<std::uint64_t>(status.st_size);
  }

  const std::string& name() const { return name_; }
  std::uint64_t left() const { return left_; }

  void read_into(void* to, std::uint64_t bytes) {
    auto* at = static_cast<std::byte*>(to);
    for (std::uint64_t done = 0; done < bytes;) {
      const ssize_t got = read(file_.get(), at + done, std::min<std::uint64_t>(bytes - done, kPiece));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw Error::system(errno, "cannot read {}", name_);
      if (got == 0) throw Error::bad_input("{} was truncated while it was read", name_);
      if (see_) see_({at + done, static_cast<std::size_t>(got)});
      done += static_cast<std::uint64_t>(got);
    }
    left_ -= bytes;
  }

 private:
  static constexpr std::uint64_t kPiece = 1 << 20;  // still in the cache when a checksum looks at it

  const std::string name_;
  const ByteSink& see_;
  FileDescriptor file_;
  std::uint64_t left_ = 0;
};

SafetensorsHeader read_header(Input& input) {
  if (input.left() < kLengthBytes)
    throw Error::bad_input("{}: not a safetensors file: it has only {} bytes", input.name(), input.left());
  std::uint64_t length = 0;
  input.read_into(&length, kLengthBytes);
  if (length > detail::kLongestHeader || length > input.left())
    throw Error::bad_input(
        "{}: not a safetensors file, or truncated: its first 8 bytes announce a header of {} bytes, but {} bytes "
        "follow",
        input.name(), length, input.left());
  std::string text(length, ' ');
  input.read_into(text.data(), length);
  return detail::parse_header(text, input.left(), input.name());
}

// Large elements first, so that every tensor lies at a multiple of its element's size; then by name.
SafetensorsHeader layout(const Safetensors& content) {
  SafetensorsHeader header{.metadata = content.metadata};
  for (const auto& [name, tensor] : content.tensors) {
    if (tensor.layout() != torch::kStrided)
      throw Error::bad_input("tensor '{}' is sparse: it cannot be stored as safetensors", name);
    header.tensors.push_back({.name = name, .type = tensor.scalar_type(), .shape = tensor.sizes().vec()});
  }
  std::ranges::stable_sort(header.tensors, std::ranges::greater(),
                           [](const StoredTensor& tensor) { return torch::elementSize(tensor.type); });
  std::uint64_t at = 0;
  for (StoredTensor& tensor : header.tensors) {
    tensor.begin = at;
    tensor.end = at += stored_bytes(content.tensors.at(tensor.name));
  }
  return header;
}

void write_all(int file, std::span<const std::byte> bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw Error::system(errno, "cannot write {}", name);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

}  // namespace

std::size_t stored_bytes(const torch::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.numel()) * tensor.element_size();
}

Safetensors read_safetensors(const std::filesystem::path& file, const ByteSink& see) {
  Input input(file, see);
  SafetensorsHeader header = read_header(input);
  Safetensors content{.metadata = std::move(header.metadata)};
  for (const StoredTensor& stored : header.tensors) {
    torch::Tensor tensor = torch::empty(stored.shape, torch::TensorOptions(stored.type));
    input.read_into(tensor.data_ptr(), stored.end - stored.begin);
    content.tensors.emplace(stored.name, std::move(tensor));
  }
  return content;
}

void write_safetensors(const Safetensors& content, const ByteSink& sink) {
  const SafetensorsHeader header = layout(content);
  const std::string text = detail::header_text(header);
  const std::uint64_t length = text.size();
  sink(std::as_bytes(std::span(&length, 1)));
  sink(std::as_bytes(std::span(text)));
  for (const StoredTensor& stored : header.tensors) {
    const torch::Tensor values = content.tensors.at(stored.name).detach().cpu().contiguous();
    if (stored.end > stored.begin)
      sink({static_cast<const std::byte*>(values.const_data_ptr()), stored.end - stored.begin});
  }
}

void write_safetensors(const Safetensors& content, const std::filesystem::path& file) {
  const FileDescriptor out(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!out) throw Error::system(errno, "cannot write {}", file.string());
  write_safetensors(content, [&](std::span<const std::byte> bytes) { write_all(out.get(), bytes, file.string()); });
}

}  // namespace ronde::models
