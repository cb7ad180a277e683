#include <utility>

#include "ronde/base/error.h"
#include "ronde/data/formats/table/csv_parse.h"
#include "ronde/data/formats/typed.h"
#include "ronde/data/formats/uniform.h"
#include "ronde/data/formats/writers.h"
#include "ronde/data/io/growing_file.h"

namespace ronde::data::files {
namespace {

constexpr std::size_t kMostColumns = 100'000;

// A file with what CSV can hold: texts, classes by their names, and numbers, a column each.
class CsvWriter : public RecordWriter {
 public:
  explicit CsvWriter(const WriterOptions& options)
      : classes_(options.classes), file_(options.path.string(), grown_to(options)) {
    if (!options.saved) return;
    samples_ = options.saved->samples;
    const Prepared first = prepare(options.first, options.first.at("key").text(), 0);
    uniform_.check(first.sample, first.key, /* bytes_vary */ true);
  }

  Prepared prepare(const Sample& given, std::string_view key, std::int64_t number) const override {
    Prepared prepared{.number = number, .key = std::string(key), .sample = given};
    if (!given.find("key")) prepared.sample.set("key", Array::bytes_of(key));
    if (const Array* image = given.find("image"); image && is_bytes(*image))
      throw Error::bad_input("sample '{}' is an encoded picture, which CSV cannot hold: choose the format images", key);
    if (number == 0) prepared.bytes = header(prepared.sample);
    std::string line;
    for (const auto& [name, array] : prepared.sample.arrays()) append(line, name, array, key);
    prepared.bytes += line + '\n';
    return prepared;
  }

  void put(Prepared prepared) override {
    uniform_.check(prepared.sample, prepared.key, /* bytes_vary */ true);
    file_.append(prepared.bytes);
    ++samples_;
  }

  std::optional<Saved> save() override {
    file_.save();
    return Saved{.samples = samples_, .files = {{std::filesystem::path(file_.path()).filename(), file_.bytes()}}};
  }

  void finish() override { file_.save(); }

 private:
  static void part(std::string& line, std::string_view field) {
    if (!line.empty()) line += ',';
    line += field;
  }

  std::string header(const Sample& sample) const {
    std::string line;
    for (const auto& [name, array] : sample.arrays()) {
      if (array.size() > kMostColumns && !is_bytes(array))
        throw Error::bad_input("'{}' is {}: too many numbers for CSV", name, to_text(array.type(), array.shape()));
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
        throw Error::bad_input("sample '{}': class {} is out of range; there are {} classes", key, number,
                               classes_.size());
      return part(line, csv_field(classes_[static_cast<std::size_t>(number)]));
    }
    for (std::size_t i = 0; i < array.size(); ++i) part(line, number_text(array, i));
  }

  static std::optional<std::uint64_t> grown_to(const WriterOptions& options) {
    if (!options.saved) return {};
    if (options.saved->files.size() != 1) throw Error::bad_input("{}: the file was not saved", options.path.string());
    return options.saved->files.front().bytes;
  }

  const std::vector<std::string> classes_;
  detail::GrowingFile file_;
  Uniform uniform_;
  std::int64_t samples_ = 0;
};

}  // namespace

std::unique_ptr<RecordWriter> make_csv_writer(const WriterOptions& options) {
  return std::make_unique<CsvWriter>(options);
}

}  // namespace ronde::data::files
