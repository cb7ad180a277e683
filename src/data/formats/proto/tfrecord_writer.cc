#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/wire/tfrecord.h"
#include "ronde/data/formats/naming.h"
#include "ronde/data/formats/proto/example.h"
#include "ronde/data/formats/proto/tfrecord_framing.h"
#include "ronde/data/formats/writers.h"
#include "ronde/data/io/growing_file.h"

namespace ronde::data::files {
namespace {

constexpr std::uint64_t kShard = std::uint64_t{256} << 20;

// A sample with the names that TensorFlow's tools use, and its key.
Sample tensorflow_names(const Sample& sample, std::string_view key) {
  Sample out;
  for (const auto& [name, array] : sample.arrays()) {
    const bool encoded = name == "image" && array.type() == Type::U8 && array.shape().size() == 1;
    out.set(encoded ? "image/encoded" : name == "class" ? "image/class/label" : name, array);
  }
  if (!out.find("key")) out.set("key", Array::bytes_of(key));
  return out;
}

class TfRecordWriter : public RecordWriter {
 public:
  explicit TfRecordWriter(const WriterOptions& options)
      : path_(options.path), classes_(options.classes), one_file_(path_.extension() == ".tfrecord") {
    if (options.saved) {
      go_on(*options.saved);
      return;
    }
    if (!one_file_) std::filesystem::create_directory(path_);
    open_shard();
  }

  Prepared prepare(const Sample& sample, std::string_view key, std::int64_t number) const override {
    Prepared prepared{.number = number};
    append_tfrecord(prepared.bytes, encode_example(tensorflow_names(sample, key)));
    return prepared;
  }

  void put(Prepared prepared) override {
    if (!one_file_ && shard_->bytes() >= kShard) {
      close_shard();
      open_shard();
    }
    shard_->append(prepared.bytes);
    saved_.samples = prepared.number + 1;
  }

  std::optional<Saved> save() override {
    shard_->save();
    Saved saved = saved_;
    saved.files.push_back({shard_name(saved_.files.size()), shard_->bytes()});
    return saved;
  }

  void finish() override {
    close_shard();
    write_classes(path_, classes_);
    if (one_file_) return;
    // How many there are is known only now.
    const std::size_t shards = saved_.files.size();
    for (std::size_t i = 0; i < shards; ++i)
      rename(shard_name(i), fmt::format("data-{:05}-of-{:05}.tfrecord", i, shards));
  }

 private:
  std::string shard_name(std::size_t shard) const {
    return one_file_ ? path_.filename().string() : fmt::format("data-{:05}.part", shard);
  }
  std::string shard_path(std::size_t shard) const {
    return one_file_ ? path_.string() : (path_ / shard_name(shard)).string();
  }

  void rename(const std::string& from, const std::string& to) const {
    std::error_code failure;
    std::filesystem::rename(path_ / from, path_ / to, failure);
    if (failure) throw Error::system(failure.value(), "cannot rename the finished file to {}", (path_ / to).string());
  }

  void go_on(const Saved& saved) {
    saved_ = saved;
    if (saved_.files.empty()) throw Error::bad_input("{}: no output file was saved", path_.string());
    if (!one_file_) take_names_back();
    const std::uint64_t last = saved_.files.back().bytes;
    saved_.files.pop_back();
    for (std::size_t i = 0; i < saved_.files.size(); ++i) detail::check_size(shard_path(i), saved_.files[i].bytes);
    shard_.emplace(shard_path(saved_.files.size()), last);
  }

  // Of shards that a program that was killed while it finished had given their last names.
  void take_names_back() const {
    std::vector<std::string> named;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      if (const std::string name = entry.path().filename().string(); name.find("-of-") != std::string::npos)
        named.push_back(name);
    for (const std::string& name : named) rename(name, name.substr(0, name.find("-of-")) + ".part");
  }

  void open_shard() { shard_.emplace(shard_path(saved_.files.size())); }

  void close_shard() {
    shard_->save();
    saved_.files.push_back({shard_name(saved_.files.size()), shard_->bytes()});
    shard_.reset();
  }

  const std::filesystem::path path_;
  const std::vector<std::string> classes_;
  const bool one_file_;
  std::optional<detail::GrowingFile> shard_;
  Saved saved_;  // without the shard that is being written
};

}  // namespace

std::unique_ptr<RecordWriter> make_tfrecord_writer(const WriterOptions& options) {
  return std::make_unique<TfRecordWriter>(options);
}

}  // namespace ronde::data::files
