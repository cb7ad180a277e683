#include "ronde/data/formats/pack/pack_writer.h"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/wire/crc32c.h"
#include "ronde/data/io/file_io.h"

namespace ronde::data::files {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;  // that is written at once

}  // namespace

PackShardWriter::PackShardWriter(const std::filesystem::path& path)
    : path_(path),
      partial_(path.parent_path() / fmt::format(".{}.partial", path.filename().string())),
      file_(::open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (!file_) throw Error::system(errno, "cannot write {}", partial_.string());
  put(make_pack_header());
}

PackShardWriter::~PackShardWriter() {
  if (file_) ::unlink(partial_.c_str());  // its room may be what is missing
}

void PackShardWriter::put(std::string_view bytes) {
  waiting_ += bytes;
  bytes_ += bytes.size();
  if (waiting_.size() >= kPiece) flush();
}

void PackShardWriter::flush() {
  crc_ = crc32c(waiting_, crc_);
  detail::write_all(file_, waiting_, partial_.string());
  waiting_.clear();
}

void PackShardWriter::add(const PackRecord& record) {
  index_.add(record);
  put(record.bytes);
  put(std::string(pack_padded(record.bytes.size()) - record.bytes.size(), '\0'));
}

PackShardFacts PackShardWriter::finish() {
  const std::string index = index_.make();
  const PackFooter footer{.records = static_cast<std::uint64_t>(index_.records()),
                          .index_begin = bytes_,
                          .index_bytes = index.size(),
                          .index_crc = crc32c(index)};
  put(index);
  put(make_pack_footer(footer));
  flush();
  if (::fsync(file_.get()) != 0) throw Error::system(errno, "cannot write {}", partial_.string());
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) throw Error::system(errno, "cannot write {}", path_.string());
  file_.close();
  return {.file = path_.filename().string(), .samples = index_.records(), .bytes = bytes_, .crc = crc_};
}

}  // namespace ronde::data::files
