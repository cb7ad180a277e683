#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/data/formats/index_file.h"
#include "ronde/data/io/file_io.h"
#include "ronde/data/records.h"

namespace ronde::data::files {

// The samples of one tar, as WebDataset has them: files that follow one another and share their name up to the first
// dot after the last slash; what comes after the dot, in small letters, says what each is.
struct TarSamples {
  struct Member {
    std::uint64_t offset = 0, size = 0;
    std::uint32_t ending = 0;  // of `endings`
  };
  struct One {
    std::string key;
    std::vector<Member> members;
  };
  std::vector<One> samples;
  std::vector<std::string> endings;  // "jpg", "seg.png"
};

// Goes through a tar. FAILS WITH: BadInput that names file and offset: as TarWalk, or a sample that has two files of
// one ending; `progress` is told how far it has come in bytes.
TarSamples index_tar(std::string_view tar, const std::string& name, const Progress& progress = {});

// The samples as an index file; `facts`: of the tar, to know it again.
std::string to_index(const TarSamples& samples, const detail::FileFacts& facts);

// That index where it lies. A plain value that points into the bytes.
class TarIndex {
 public:
  // FAILS WITH: BadInput: damaged, or a place that is not in a tar of its size.
  TarIndex(std::string_view bytes, const std::string& name);

  struct Span {
    std::uint64_t begin = 0, end = 0;  // bytes of the tar
    std::uint64_t size() const { return end - begin; }
  };

  std::int64_t size() const { return static_cast<std::int64_t>(view_.length(kMemberEnds)); }
  std::string_view key(std::int64_t sample) const;
  std::size_t first_member(std::int64_t sample) const;
  std::size_t end_member(std::int64_t sample) const;
  Span member(std::size_t member) const;
  std::string_view ending(std::size_t member) const;
  Span span(std::int64_t sample) const;  // of all its members

  bool is_of(const detail::FileFacts& facts) const;

 private:
  enum : std::size_t { kMemberEnds, kOffsets, kSizes, kEndings, kFacts, kColumns };

  IndexView view_;
};

}  // namespace ronde::data::files
