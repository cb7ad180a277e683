#include "ronde/data/formats/naming.h"
#include "ronde/data/formats/tar/tar.h"
#include "ronde/data/formats/writers.h"

namespace ronde::data::files {
namespace {

// A TarWriter as one of many.
class TarRecordWriter : public RecordWriter {
 public:
  explicit TarRecordWriter(const WriterOptions& options)
      : path_(options.path), classes_(options.classes), writer_({.folder = options.path, .saved = options.saved}) {}

  Prepared prepare(const Sample& given, std::string_view key, std::int64_t number) const override {
    Sample sample = given;
    if (!sample.find("key")) sample.set("key", Array::bytes_of(key));
    return {.number = number, .key = {}, .sample = {}, .bytes = tar_members(sample, number)};
  }

  void put(Prepared prepared) override { writer_.put(prepared.bytes); }

  std::optional<Saved> save() override { return writer_.save(); }

  void finish() override {
    writer_.finish();
    write_classes(path_, classes_);
  }

 private:
  const std::filesystem::path path_;
  const std::vector<std::string> classes_;
  TarWriter writer_;
};

}  // namespace

std::unique_ptr<RecordWriter> make_tar_writer(const WriterOptions& options) {
  return std::make_unique<TarRecordWriter>(options);
}

}  // namespace ronde::data::files
