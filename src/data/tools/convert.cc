#include "ronde/data/tools/convert.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/data/formats/pack/pack_make.h"
#include "ronde/data/formats/unfinished.h"
#include "ronde/data/io/file_io.h"
#include "ronde/data/io/parallel.h"

namespace ronde::data {
namespace {

constexpr std::int64_t kWindow = 16;  // samples a thread may be ahead of the one that is written

std::string key_of(const Records& records, const Sample& sample, std::int64_t index) {
  if (const Array* own = sample.find("key"); own && own->type() == Type::U8 && !own->empty())
    return std::string(own->text());
  std::string key = records.key(index);
  return key == std::to_string(index) ? fmt::format("{:09}", index) : key;
}

// Packs are made by several threads, and go on after an interruption.
Converted to_pack(const Records& records, const WriterOptions& to, const ConvertOptions& options) {
  const auto packed = files::make_pack(records, {.folder = to.path,
                                                 .stop_on_error = true,
                                                 .threads = options.threads,
                                                 .overwrite = options.overwrite,
                                                 .progress = options.progress});
  if (packed.was_there) throw Error::bad_input("{} already exists, made of the same samples", to.path.string());
  return {.samples = packed.manifest.samples(), .bytes = packed.manifest.bytes(), .went_on_at = packed.went_on_at};
}

class Converter {
 public:
  Converter(const Records& records, const WriterOptions& to, const ConvertOptions& options)
      : records_(records), options_(options), to_(to), notes_path_(unfinished_paths(to.path).notes) {
    if (to_.classes.empty()) to_.classes = records.classes();
    notes_.made = fmt::format("{} as {}", files::describe_source(records), to.format);
  }

  Converted run() {
    find_earlier();
    try {
      return write();
    } catch (const Error& error) {  // the writer is gone
      if (error.kind() == Error::Kind::BadInput) remove_unfinished(to_.path);
      throw;
    }
  }

 private:
  struct Ready {
    RecordWriter::Prepared prepared;
    std::uint64_t bytes = 0;
  };

  void find_earlier() {
    std::error_code ignored;
    const auto there = [&](const std::filesystem::path& path) { return std::filesystem::exists(path, ignored); };
    if (options_.overwrite) remove_unless_same();
    if (!there(notes_path_) || !there(unfinished_paths(to_.path).data) || there(to_.path)) return;
    files::Notes earlier = read_notes();
    if (earlier.made != notes_.made)
      throw Error::bad_input("{} was started from {}, but this would be {}: use --overwrite to start over",
                             to_.path.string(), earlier.made, notes_.made);
    if (earlier.saved.samples < 1 || earlier.saved.samples > records_.size())
      throw Error::bad_input("{}: \"samples\" is out of range: use --overwrite to start over", notes_path_.string());
    notes_ = std::move(earlier);
    to_.saved = notes_.saved;
    to_.first = records_.read(0);
    to_.first.set("key", Array::bytes_of(key_of(records_, to_.first, 0)));
  }

  void remove_unless_same() const {
    try {
      if (read_notes().made == notes_.made) return;
    } catch (const Error&) {  // none, or none that can be read
    }
    remove_unfinished(to_.path);
  }

  files::Notes read_notes() const {
    const std::string path = notes_path_.string();
    const FileDescriptor file = detail::open_to_read(path);
    return files::parse_notes(detail::read_exactly(file, 0, detail::facts_of(file, path).bytes, path), path);
  }

  Converted write() {
    const int threads = options_.threads > 0 ? options_.threads : detail::usable_threads();
    const auto writer = make_writer(to_);
    Converted done{.samples = notes_.saved.samples, .bytes = notes_.bytes, .went_on_at = notes_.saved.samples};
    if (options_.progress) options_.progress(done.samples, records_.size());
    detail::ordered_work<Ready>(
        done.samples, records_.size(), threads, kWindow * threads,
        [&](std::int64_t index) { return prepare(*writer, index); },
        [&](std::int64_t index, Ready ready) {
          named(index, [&] { writer->put(std::move(ready.prepared)); });
          done.bytes += ready.bytes;
          done.samples = index + 1;
          if (done.bytes - notes_.bytes >= options_.save_bytes) save(*writer, done.bytes);
          if (options_.progress) options_.progress(done.samples, records_.size());
        });
    writer->finish();
    return done;
  }

  // On any thread.
  Ready prepare(const RecordWriter& writer, std::int64_t index) const {
    Ready ready;
    named(index, [&] {
      const Sample sample = records_.read(index);
      ready.prepared = writer.prepare(sample, key_of(records_, sample, index), index);
      ready.bytes = sample.bytes();
    });
    return ready;
  }

  template <class Action>
  void named(std::int64_t index, const Action& action) const {
    try {
      action();
    } catch (const Error& error) {
      throw files::of_sample(records_, index, error);
    }
  }

  void save(RecordWriter& writer, std::uint64_t bytes) {
    notes_.bytes = bytes;
    auto saved = writer.save();
    if (!saved) return;
    notes_.saved = std::move(*saved);
    detail::replace_file(notes_path_, files::to_json(notes_), /* durable */ true);
  }

  const Records& records_;
  const ConvertOptions& options_;
  WriterOptions to_;
  const std::filesystem::path notes_path_;
  files::Notes notes_;
};

}  // namespace

std::vector<std::string> convert_formats() {
  auto names = writer_formats();
  names.emplace_back("pack");
  std::ranges::sort(names);
  return names;
}

Converted convert(const Records& from, const WriterOptions& to, const ConvertOptions& options) {
  return to.format == "pack" ? to_pack(from, to, options) : Converter(from, to, options).run();
}

Converted convert(const RecordsOptions& from, const WriterOptions& to, const ConvertOptions& options) {
  return convert(*open_records(from), to, options);
}

}  // namespace ronde::data
