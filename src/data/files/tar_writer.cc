#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/data/detail/file_io.h"
#include "ronde/data/files/tar.h"
#include "ronde/data/files/tar_format.h"

namespace ronde::data::files {
namespace {

namespace fs = std::filesystem;

// The name that all files of a sample have: its key without the ending, with no dots left that would end it too early.
std::string name_of(const Sample& sample, std::int64_t index) {
  const Array* key = sample.find("key");
  std::string name = key != nullptr ? std::string(key->text()) : fmt::format("{:09}", index);
  const auto slash = name.rfind('/');
  const std::size_t base = slash == std::string::npos ? 0 : slash + 1;
  if (const auto dot = name.rfind('.'); dot != std::string::npos && dot > base) name.resize(dot);
  for (std::size_t i = base; i < name.size(); ++i)
    if (name[i] == '.') name[i] = '_';
  if (name.size() == base || name.starts_with('/') || name.find('\0') != std::string::npos)
    throw Error::bad_input("sample {}: '{}' is no name that a file in a tar could have", index, name);
  return name;
}

}  // namespace

std::string picture_ending(std::string_view bytes) {
  if (bytes.starts_with("\xff\xd8\xff")) return "jpg";
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return "png";
  if (bytes.starts_with(std::string_view("II*\0", 4)) || bytes.starts_with(std::string_view("MM\0*", 4))) return "tif";
  return "bin";
}

TarWriter::TarWriter(TarWriterOptions options) : options_(std::move(options)) {
  std::error_code failure;
  fs::create_directories(options_.folder, failure);
  if (failure) throw Error::system(failure.value(), "cannot make the folder {}", options_.folder.string());
}

TarWriter::~TarWriter() {
  if (file_) ::unlink(partial_.c_str());
}

void TarWriter::add(const Sample& sample) {
  const std::string name = name_of(sample, samples_);
  std::string members;
  for (const auto& [array_name, array] : sample.arrays()) {
    if (array_name == "key") continue;
    if (array_name == "class") {
      append_tar_member(members, name + ".cls", std::to_string(static_cast<std::int64_t>(array.number())));
      continue;
    }
    if (array.type() != Type::U8 || array.shape().size() > 1)
      throw Error::bad_input("sample '{}': '{}' is {}, and a tar holds bytes: a pack holds arrays", name, array_name,
                             to_text(array.type(), array.shape()));
    append_tar_member(members,
                      fmt::format("{}.{}", name, array_name == "image" ? picture_ending(array.text()) : array_name),
                      array.text());
  }
  if (members.empty()) throw Error::bad_input("sample '{}' holds nothing", name);
  if (file_ && written_ + members.size() > options_.shard_bytes) close();
  if (!file_) open();
  detail::write_all(file_, members, partial_.string());
  written_ += members.size();
  ++samples_;
}

void TarWriter::open() {
  final_ = options_.folder / fmt::format("{}-{:05}.tar", options_.name, shards_);
  partial_ = options_.folder / fmt::format(".{}.partial", final_.filename().string());
  file_ = FileDescriptor(::open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file_) throw Error::system(errno, "cannot write {}", partial_.string());
  written_ = 0;
}

void TarWriter::close() {
  std::string end;
  append_tar_end(end);
  detail::write_all(file_, end, partial_.string());
  if (std::rename(partial_.c_str(), final_.c_str()) != 0)
    throw Error::system(errno, "cannot write {}", final_.string());
  file_.close();
  ++shards_;
}

std::int64_t TarWriter::finish() {
  if (file_) close();
  return shards_;
}

}  // namespace ronde::data::files
