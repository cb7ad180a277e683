#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/file_descriptor.h"
#include "ronde/data/detail/file_io.h"
#include "ronde/data/files/example.h"
#include "ronde/data/files/naming.h"
#include "ronde/data/files/writers.h"
#include "ronde/data/tfrecord.h"

namespace ronde::data::files {
namespace {

constexpr std::size_t kBuffer = 4 << 20;
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
    if (!one_file_) std::filesystem::create_directory(path_);
    open_shard();
  }

  void add(const Sample& sample, std::string_view key) override {
    append_tfrecord(buffer_, encode_example(tensorflow_names(sample, key)));
    if (buffer_.size() >= kBuffer) flush();
    if (one_file_ || shard_bytes_ + buffer_.size() < kShard) return;
    close_shard();
    open_shard();
  }

  void finish() override {
    close_shard();
    write_classes(path_, classes_);
    if (one_file_) return;
    // How many there are is known only now.
    for (std::size_t i = 0; i < shards_; ++i) {
      std::error_code failure;
      const auto whole = path_ / fmt::format("data-{:05}-of-{:05}.tfrecord", i, shards_);
      std::filesystem::rename(shard_path(i), whole, failure);
      if (failure) throw Error::system(failure.value(), "cannot give {} its name", whole.string());
    }
  }

 private:
  std::filesystem::path shard_path(std::size_t shard) const {
    return one_file_ ? path_ : path_ / fmt::format("data-{:05}.part", shard);
  }

  void open_shard() {
    const std::string path = shard_path(shards_++).string();
    file_ = FileDescriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file_) throw Error::system(errno, "cannot write {}", path);
    shard_bytes_ = 0;
  }

  void flush() {
    detail::write_all(file_, buffer_, shard_path(shards_ - 1).string());
    shard_bytes_ += buffer_.size();
    buffer_.clear();
  }

  void close_shard() {
    flush();
    if (::fsync(file_.get()) != 0) throw Error::system(errno, "cannot write {}", shard_path(shards_ - 1).string());
    file_.close();
  }

  const std::filesystem::path path_;
  const std::vector<std::string> classes_;
  const bool one_file_;
  FileDescriptor file_;
  std::size_t shards_ = 0;
  std::uint64_t shard_bytes_ = 0;
  std::string buffer_;
};

}  // namespace

std::unique_ptr<RecordWriter> make_tfrecord_writer(const WriterOptions& options) {
  return std::make_unique<TfRecordWriter>(options);
}

}  // namespace ronde::data::files
