#include <cerrno>
#include <set>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/file_descriptor.h"
#include "ronde/data/detail/file_io.h"
#include "ronde/data/files/csv_parse.h"
#include "ronde/data/files/typed.h"
#include "ronde/data/files/uniform.h"
#include "ronde/data/files/writers.h"

namespace ronde::data::files {
namespace {

constexpr std::size_t kBuffer = 1 << 20, kMostColumns = 100'000;

// A file with what CSV can hold: texts, classes by their names, and numbers, a column each.
class CsvWriter : public RecordWriter {
 public:
  explicit CsvWriter(const WriterOptions& options)
      : path_(options.path.string()),
        classes_(options.classes),
        file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
    if (!file_) throw Error::system(errno, "cannot write {}", path_);
  }

  void add(const Sample& given, std::string_view key) override {
    Sample sample = given;
    if (!sample.find("key")) sample.set("key", Array::bytes_of(key));
    if (const Array* image = sample.find("image"); image && is_bytes(*image))
      throw Error::bad_input("sample '{}' is an encoded picture, which does not go into a line of text: choose images",
                             key);
    uniform_.check(sample, key, /* bytes_vary */ true);
    if (!any_) buffer_ += header(sample);
    any_ = true;
    std::string line;
    for (const auto& [name, array] : sample.arrays()) append(line, name, array, key);
    buffer_ += line;
    buffer_ += '\n';
    if (buffer_.size() >= kBuffer) flush();
  }

  void finish() override {
    flush();
    if (::fsync(file_.get()) != 0) throw Error::system(errno, "cannot write {}", path_);
  }

 private:
  static void part(std::string& line, std::string_view field) {
    if (!line.empty()) line += ',';
    line += field;
  }

  std::string header(const Sample& sample) const {
    std::string line;
    for (const auto& [name, array] : sample.arrays()) {
      if (array.size() > kMostColumns && !is_bytes(array))
        throw Error::bad_input("'{}' is {}: CSV is for fewer numbers", name, to_text(array.type(), array.shape()));
      if (is_bytes(array) || array.shape().empty())
        part(line, csv_field(name));
      else
        for (std::size_t i = 0; i < array.size(); ++i) part(line, csv_field(fmt::format("{}.{}", name, i)));
    }
    return line + "\n";
  }

  void append(std::string& line, const std::string& name, const Array& array, std::string_view key) const {
    if (is_bytes(array)) return part(line, csv_field(array.text()));
    if (name == "class" && !classes_.empty()) {
      const std::int64_t number = whole_number(array, fmt::format("sample '{}': its class", key));
      if (number < 0 || static_cast<std::size_t>(number) >= classes_.size())
        throw Error::bad_input("sample '{}': its class is {}, but there are {}", key, number, classes_.size());
      return part(line, csv_field(classes_[static_cast<std::size_t>(number)]));
    }
    for (std::size_t i = 0; i < array.size(); ++i) part(line, number_text(array, i));
  }

  void flush() {
    detail::write_all(file_, buffer_, path_);
    buffer_.clear();
  }

  const std::string path_;
  const std::vector<std::string> classes_;
  const FileDescriptor file_;
  Uniform uniform_;
  bool any_ = false;
  std::string buffer_;
};

}  // namespace

std::unique_ptr<RecordWriter> make_csv_writer(const WriterOptions& options) {
  return std::make_unique<CsvWriter>(options);
}

}  // namespace ronde::data::files
