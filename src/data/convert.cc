#include "ronde/data/convert.h"

#include <algorithm>
#include <string>

#include "ronde/base/error.h"
#include "ronde/data/files/pack_make.h"

namespace ronde::data {
namespace {

std::string key_of(const Records& records, const Sample& sample, std::int64_t index) {
  if (const Array* own = sample.find("key"); own && own->type() == Type::U8 && !own->empty())
    return std::string(own->text());
  std::string key = records.key(index);
  return key == std::to_string(index) ? fmt::format("{:09}", index) : key;
}

// Packs are made by several threads, and go on after an interruption.
Converted to_pack(const Records& records, const WriterOptions& to, const Progress& progress) {
  const auto packed = files::make_pack(records, {.folder = to.path, .stop_on_error = true, .progress = progress});
  if (packed.was_there) throw Error::bad_input("{} is there already, made of the same samples", to.path.string());
  return {.samples = packed.manifest.samples(), .bytes = packed.manifest.bytes()};
}

}  // namespace

std::vector<std::string> convert_formats() {
  auto names = writer_formats();
  names.emplace_back("pack");
  std::ranges::sort(names);
  return names;
}

Converted convert(const RecordsOptions& from, const WriterOptions& to, const Progress& progress) {
  const auto records = open_records(from);
  if (to.format == "pack") return to_pack(*records, to, progress);
  WriterOptions options = to;
  if (options.classes.empty()) options.classes = records->classes();
  const auto writer = make_writer(options);
  Converted done;
  for (std::int64_t i = 0; i < records->size(); ++i) {
    const Sample sample = records->read(i);
    try {
      writer->add(sample, key_of(*records, sample, i));
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("{}: {}", records->where(i), error.message()));
    }
    ++done.samples;
    done.bytes += sample.bytes();
    if (progress) progress(done.samples, records->size());
  }
  writer->finish();
  return done;
}

}  // namespace ronde::data
