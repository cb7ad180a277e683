#include "ronde/data/formats/index_file.h"

#include <cstring>
#include <system_error>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/wire/crc32c.h"
#include "ronde/data/io/bytes.h"
#include "ronde/data/io/file_io.h"
#include "ronde/data/order/random.h"

namespace ronde::data::files {
namespace {

namespace fs = std::filesystem;
using detail::append_number;
using detail::number_at;

constexpr std::string_view kMagic = "RONDEIDX";
constexpr std::size_t kChecked = 24;  // the checksum covers what comes after this

// A name for a path in a folder that holds many: short, and never the same for two.
std::string name_for(const fs::path& path) {
  std::error_code ignored;
  const std::string whole = fs::weakly_canonical(path, ignored).string();
  std::uint64_t a = whole.size(), b = 1;
  for (const char letter : whole) {
    a = mix(a + static_cast<unsigned char>(letter));
    b = mix(b * 3 + static_cast<unsigned char>(letter));
  }
  return fmt::format("{:016x}{:016x}.ronde-index", a, b);
}

}  // namespace

std::string make_index(const IndexKind& kind, std::span<const Column> columns, std::span<const std::string> texts) {
  std::string body;
  for (const Column& column : columns) append_number(body, std::uint64_t{column.size()});
  append_number(body, std::uint64_t{texts.size()});
  for (const Column& column : columns)
    body.append(reinterpret_cast<const char*>(column.data()), column.size() * sizeof(column[0]));
  std::uint64_t end = 0;
  for (const std::string& text : texts) append_number(body, end += text.size());
  for (const std::string& text : texts) body += text;

  std::string bytes(kMagic);
  append_number(bytes, kind.kind);
  append_number(bytes, kind.version);
  append_number(bytes, crc32c(body));
  append_number(bytes, static_cast<std::uint32_t>(columns.size()));
  return bytes + body;
}

IndexView::IndexView(std::string_view bytes, const IndexKind& kind, std::size_t columns, const std::string& name) {
  const auto damaged = [&](const char* how) { return Error::bad_input("the index {} is damaged: {}", name, how); };
  const std::size_t head = kChecked + 8 * (columns + 1);
  if (bytes.size() < head || !bytes.starts_with(kMagic)) throw damaged("it does not begin as an index does");
  if (number_at<std::uint32_t>(bytes, 8) != kind.kind || number_at<std::uint32_t>(bytes, 12) != kind.version ||
      number_at<std::uint32_t>(bytes, 20) != columns)
    throw Error::bad_input("the index {} has another kind or version", name);
  if (number_at<std::uint32_t>(bytes, 16) != crc32c(bytes.substr(kChecked)))
    throw damaged("its checksum does not match");
  std::size_t at = head;
  for (std::size_t i = 0; i <= columns; ++i) {
    const auto length = number_at<std::uint64_t>(bytes, kChecked + 8 * i);
    if (length > (bytes.size() - at) / 8) throw damaged("a column is longer than the file");
    lengths_.push_back(length);
    beginnings_.push_back(bytes.data() + at);
    at += 8 * length;
  }
  texts_ = bytes.substr(at);
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < texts(); ++i) {
    const std::uint64_t next = number(columns, i);
    if (next < end || next > texts_.size()) throw damaged("its strings overlap");
    end = next;
  }
}

std::uint64_t IndexView::number(std::size_t column, std::size_t index) const {
  std::uint64_t number = 0;
  std::memcpy(&number, beginnings_[column] + 8 * index, sizeof number);
  return number;
}

std::string_view IndexView::text(std::size_t index) const {
  const std::size_t ends = lengths_.size() - 1;
  const std::uint64_t begin = index == 0 ? 0 : number(ends, index - 1);
  return texts_.substr(begin, number(ends, index) - begin);
}

IndexHome::IndexHome(const fs::path& data, fs::path beside, const fs::path& cache)
    : beside_(std::move(beside)), cached_(cache.empty() ? fs::path() : cache / name_for(data)) {}

std::vector<detail::FileBytes> IndexHome::load() const {
  std::vector<detail::FileBytes> found;
  for (const fs::path& path : {beside_, cached_}) {
    std::error_code ignored;
    if (path.empty() || !fs::is_regular_file(path, ignored)) continue;
    try {
      found.emplace_back(path);
    } catch (const Error&) {  // one that may not be read is as good as none
    }
  }
  return found;
}

void IndexHome::save(std::string_view bytes) const {
  for (const fs::path& path : {beside_, cached_}) {
    if (path.empty()) continue;
    std::error_code ignored;
    if (path == cached_) fs::create_directories(path.parent_path(), ignored);
    try {
      detail::replace_file(path, bytes, /* durable */ false);
      return;
    } catch (const Error&) {  // read-only, or full: the next place
    }
  }
}

}  // namespace ronde::data::files
