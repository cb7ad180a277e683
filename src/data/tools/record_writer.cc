#include "ronde/data/tools/record_writer.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/data/formats/format_entry.h"
#include "ronde/data/formats/naming.h"

namespace ronde::data {
namespace {

// Without a slash at its end.
std::filesystem::path plain_path(std::filesystem::path path) {
  while (path.has_relative_path() && !path.has_filename()) path = path.parent_path();  // a/b/
  if (!path.has_filename()) throw Error::bad_input("missing output path");
  return path;
}

// Writes under another name beside the one that was asked for, and takes that at the end.
class WholeOrNothing : public RecordWriter {
 public:
  WholeOrNothing(const FormatEntry& format, WriterOptions options)
      : path_(options.path), part_(unfinished_paths(path_).data), saved_(options.saved) {
    if (!saved_) remove_unfinished(path_);  // of a program that was killed
    options.path = part_;
    writer_ = format.make_writer(options);
  }
  ~WholeOrNothing() override {
    writer_.reset();
    if (!saved_) remove_unfinished(path_);
  }

  Prepared prepare(const Sample& sample, std::string_view key, std::int64_t number) const override {
    return writer_->prepare(sample, key, number);
  }
  void put(Prepared prepared) override { writer_->put(std::move(prepared)); }

  std::optional<Saved> save() override {
    auto saved = writer_->save();
    saved_ = saved_ || saved;
    return saved;
  }

  void finish() override {
    writer_->finish();
    writer_.reset();
    std::error_code failure;
    const std::filesystem::path names = files::classes_file(part_);  // only of a file: folders have it inside
    if (std::filesystem::is_regular_file(part_, failure) && std::filesystem::exists(names, failure))
      std::filesystem::rename(names, path_.string() + ".classes.txt", failure);
    if (!failure) std::filesystem::rename(part_, path_, failure);
    if (failure) throw Error::system(failure.value(), "cannot rename the finished file to {}", path_.string());
    remove_unfinished(path_);
  }

 private:
  const std::filesystem::path path_, part_;
  bool saved_;
  std::unique_ptr<RecordWriter> writer_;
};

}  // namespace

std::vector<std::string> writer_formats() {
  std::vector<std::string> names;
  for (const FormatEntry& format : format_entries())
    if (format.make_writer) names.emplace_back(format.name);
  return names;
}

// The ending stays, as it tells some writers what to do.
UnfinishedPaths unfinished_paths(const std::filesystem::path& path) {
  const std::filesystem::path plain = plain_path(path);
  const std::string name = ".part-" + plain.filename().string();
  return {.data = plain.parent_path() / name, .notes = plain.parent_path() / (name + ".json")};
}

void remove_unfinished(const std::filesystem::path& path) {
  const UnfinishedPaths unfinished = unfinished_paths(path);
  std::error_code ignored;
  std::filesystem::remove(unfinished.notes, ignored);  // first: they would promise what is not there
  std::filesystem::remove_all(unfinished.data, ignored);
  std::filesystem::remove(unfinished.data.string() + ".classes.txt", ignored);
}

std::unique_ptr<RecordWriter> make_writer(const WriterOptions& options) {
  const auto formats = format_entries();
  const auto found = std::ranges::find(formats, options.format, &FormatEntry::name);
  if (found == formats.end() || !found->make_writer) {
    const auto names = writer_formats();
    const auto meant = nearest(options.format, names);
    throw Error::bad_input("cannot write the format '{}'; {}", options.format,
                           meant ? "did you mean " + *meant + "?" : "choose one of " + join(names, ", "));
  }
  WriterOptions plain = options;
  plain.path = plain_path(options.path);
  std::error_code failure;
  if (std::filesystem::exists(std::filesystem::symlink_status(plain.path, failure)))
    throw Error::bad_input("{} already exists and is not overwritten", plain.path.string());
  if (failure && failure != std::errc::no_such_file_or_directory)
    throw Error::bad_input("cannot write {}: {}", plain.path.string(), failure.message());
  const std::filesystem::path folder = plain.path.parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, failure);
  if (!folder.empty() && !std::filesystem::is_directory(folder))
    throw Error::bad_input("cannot write {}: {} is not a folder", plain.path.string(), folder.string());
  return std::make_unique<WholeOrNothing>(*found, plain);
}

}  // namespace ronde::data
