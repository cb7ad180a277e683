#include "ronde/data/tools/inspect.h"

#include <algorithm>
#include <map>
#include <system_error>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/data/formats/pack/pack_shard.h"
#include "ronde/data/formats/shard_names.h"

namespace ronde::data {
namespace {

constexpr std::int64_t kKeys = 5;

// What all arrays of a name have in common.
class Common {
 public:
  void add(const Array& array) {
    if (samples_++ == 0) {
      type_ = array.type();
      shape_ = array.shape();
      return;
    }
    same_type_ = same_type_ && type_ == array.type() && shape_.size() == array.shape().size();
    for (std::size_t i = 0; same_type_ && i < shape_.size(); ++i)
      if (shape_[i] != array.shape()[i]) shape_[i] = -1;
  }
  Inspection::NamedArray named(const std::string& name) const {
    if (!same_type_) return {name, "mixed", samples_};
    std::string text(data::name(type_));
    for (std::size_t i = 0; i < shape_.size(); ++i)
      text += (i == 0 ? "[" : ",") + (shape_[i] < 0 ? "?" : std::to_string(shape_[i]));
    return {name, shape_.empty() ? text : text + "]", samples_};
  }

 private:
  std::int64_t samples_ = 0;
  bool same_type_ = true;
  Type type_ = Type::U8;
  Shape shape_;
};

std::int64_t files_of(const std::string& format, const std::filesystem::path& path) {
  if (format == "pack") return static_cast<std::int64_t>(files::load_pack(path).manifest.shards.size());
  if (format == "tar") return static_cast<std::int64_t>(files::find_shards(path, ".tar").size());
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) ? 1 : 0;
}

}  // namespace

std::string where_or_number(const Records& records, std::int64_t index) {
  try {
    return records.where(index);
  } catch (const Error&) {  // the index of its file is damaged
    return fmt::format("{}, sample {}", records.name(), index);
  }
}

Inspection inspect(const RecordsOptions& options, std::int64_t most) {
  RecordsOptions known = options;
  if (known.format == "auto") known.format = guess_format(known.path);
  const auto records = open_records(known);
  Inspection found{.path = known.path.string(), .format = known.format, .samples = records->size()};
  found.classes = records->classes();
  found.files = files_of(known.format, known.path);
  std::map<std::string, Common> arrays;
  std::vector<std::uint64_t> sizes;
  const std::int64_t reads = std::min(most, records->size());
  for (std::int64_t i = 0; i < reads; ++i) {
    const std::int64_t index = reads == 1 ? 0 : i * ((records->size() - 1) / (reads - 1));
    try {
      const Sample sample = records->read(index);
      for (const auto& [name, array] : sample.arrays()) arrays[name].add(array);
      sizes.push_back(sample.bytes());
    } catch (const Error& error) {
      found.bad.push_back({where_or_number(*records, index), error.message()});
    }
  }
  try {
    found.chunks = static_cast<std::int64_t>(records->chunks().size());
    for (std::int64_t i = 0; i < std::min(kKeys, records->size()); ++i) found.keys.push_back(records->key(i));
  } catch (const Error& error) {
    if (found.bad.empty()) found.bad.push_back({records->name(), error.message()});
  }
  found.read = static_cast<std::int64_t>(sizes.size());
  for (const auto& [name, common] : arrays) found.arrays.push_back(common.named(name));
  std::ranges::sort(sizes);
  if (!sizes.empty()) found.sizes = {sizes.front(), sizes[sizes.size() / 2], sizes.back()};
  return found;
}

}  // namespace ronde::data
