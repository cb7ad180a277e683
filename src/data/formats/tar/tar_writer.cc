#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/data/formats/tar/tar.h"
#include "ronde/data/formats/tar/tar_format.h"
#include "ronde/data/io/growing_file.h"

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
    throw Error::bad_input("sample {}: '{}' cannot be the name of a file in a tar", index, name);
  return name;
}

}  // namespace

std::string picture_ending(std::string_view bytes) {
  if (bytes.starts_with("\xff\xd8\xff")) return "jpg";
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return "png";
  if (bytes.starts_with(std::string_view("II*\0", 4)) || bytes.starts_with(std::string_view("MM\0*", 4))) return "tif";
  return "bin";
}

std::string tar_members(const Sample& sample, std::int64_t number) {
  const std::string name = name_of(sample, number);
  std::string members;
  for (const auto& [array_name, array] : sample.arrays()) {
    if (array_name == "key") continue;
    if (array_name == "class") {
      append_tar_member(members, name + ".cls", std::to_string(static_cast<std::int64_t>(array.number())));
      continue;
    }
    if (array.type() != Type::U8 || array.shape().size() > 1)
      throw Error::bad_input("sample '{}': '{}' is {}, but a tar holds bytes only: choose the format pack for arrays",
                             name, array_name, to_text(array.type(), array.shape()));
    append_tar_member(members,
                      fmt::format("{}.{}", name, array_name == "image" ? picture_ending(array.text()) : array_name),
                      array.text());
  }
  if (members.empty()) throw Error::bad_input("sample '{}' is empty", name);
  return members;
}

TarWriter::TarWriter(TarWriterOptions options) : options_(std::move(options)) {
  if (options_.saved) {
    go_on();
    return;
  }
  std::error_code failure;
  fs::create_directories(options_.folder, failure);
  if (failure) throw Error::system(failure.value(), "cannot make the folder {}", options_.folder.string());
}

TarWriter::~TarWriter() {
  if (file_ && !keep_) ::unlink(file_->path().c_str());
}

// The tar that was written when it was saved may have got its name since, and more tars may have come after it.
void TarWriter::go_on() {
  keep_ = true;
  saved_ = *options_.saved;
  if (saved_.files.empty()) throw Error::bad_input("{}: no output file was saved", options_.folder.string());
  const std::uint64_t bytes = saved_.files.back().bytes;
  saved_.files.pop_back();
  for (const auto& file : saved_.files) detail::check_size((options_.folder / file.name).string(), file.bytes);
  std::error_code ignored;
  if (!fs::exists(partial_path(), ignored)) fs::rename(final_path(), partial_path(), ignored);
  file_ = std::make_unique<detail::GrowingFile>(partial_path().string(), bytes);
}

fs::path TarWriter::final_path() const {
  return options_.folder / fmt::format("{}-{:05}.tar", options_.name, saved_.files.size());
}

fs::path TarWriter::partial_path() const {
  return options_.folder / fmt::format(".{}.partial", final_path().filename().string());
}

void TarWriter::put(const std::string& members) {
  if (file_ && file_->bytes() + members.size() > options_.shard_bytes) close();
  if (!file_) file_ = std::make_unique<detail::GrowingFile>(partial_path().string());
  file_->append(members);
  ++saved_.samples;
}

RecordWriter::Saved TarWriter::save() {
  if (!file_) file_ = std::make_unique<detail::GrowingFile>(partial_path().string());
  file_->save();
  keep_ = true;
  RecordWriter::Saved saved = saved_;
  saved.files.push_back({final_path().filename().string(), file_->bytes()});
  return saved;
}

void TarWriter::close() {
  std::string end;
  append_tar_end(end);
  file_->append(end);
  file_->save();
  const fs::path name = final_path();
  if (std::rename(file_->path().c_str(), name.c_str()) != 0)
    throw Error::system(errno, "cannot write {}", name.string());
  saved_.files.push_back({name.filename().string(), file_->bytes()});
  file_.reset();
}

std::int64_t TarWriter::finish() {
  if (file_) close();
  return std::ssize(saved_.files);
}

}  // namespace ronde::data::files
