#include "ronde/data/formats/kept_index.h"

#include <optional>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/data/io/file_io.h"

namespace ronde::data::files {
namespace {

// The files as they are now. An index with another stamp is stale.
std::string stamp_of(std::span<const std::string> files) {
  std::string stamp;
  for (const std::string& path : files) {
    const detail::FileFacts facts = detail::facts_of(path);
    stamp += fmt::format("{} {} {}\n", std::filesystem::path(path).filename().string(), facts.bytes, facts.changed_ns);
  }
  return stamp;
}

std::filesystem::path beside(const KeptIndexOptions& options) {
  const std::string ending = "." + options.name + ".ronde-index";
  std::error_code ignored;
  if (std::filesystem::is_directory(options.data, ignored)) return options.data / ending;
  const std::string last = options.data.filename().string();
  // A pattern is no name: what it means has one index, in the cache.
  if (last.find_first_of("*?{") != std::string::npos) return {};
  return options.data.parent_path() / ("." + last + ending);
}

std::optional<Index> unpack(const detail::FileBytes& file, const KeptIndexOptions& options, std::string_view stamp) {
  const std::string_view bytes(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  try {
    const IndexView view(bytes, options.kind, options.columns, file.name());
    if (view.texts() == 0 || view.text(0) != stamp) return {};
    Index index{.columns = std::vector<Column>(options.columns)};
    for (std::size_t column = 0; column < options.columns; ++column)
      for (std::size_t i = 0; i < view.length(column); ++i) index.columns[column].push_back(view.number(column, i));
    for (std::size_t i = 1; i < view.texts(); ++i) index.texts.emplace_back(view.text(i));
    if (options.is_sane(index)) return index;
  } catch (const Error&) {  // damaged, or of another version: made anew
  }
  return {};
}

}  // namespace

Index find_index(std::span<const std::string> files, const KeptIndexOptions& options) {
  const IndexHome place(options.data, beside(options), options.cache);
  const std::string stamp = stamp_of(files);
  for (const detail::FileBytes& file : place.load())
    if (auto index = unpack(file, options, stamp)) return *std::move(index);
  Index index = options.make();
  std::vector<std::string> texts{stamp};
  texts.insert(texts.end(), index.texts.begin(), index.texts.end());
  place.save(make_index(options.kind, index.columns, texts));
  return index;
}

}  // namespace ronde::data::files
