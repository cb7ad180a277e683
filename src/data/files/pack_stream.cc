#include "ronde/data/files/pack_stream.h"

#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>

#include "ronde/base/error.h"
#include "ronde/base/queue.h"
#include "ronde/base/thread.h"
#include "ronde/data/array.h"
#include "ronde/data/crc32c.h"
#include "ronde/data/detail/file_io.h"
#include "ronde/data/files/pack_shard.h"

namespace ronde::data::files {
namespace {

// What is read at once: long enough that handing it over costs nothing, and still in a cache of the processor when its
// checksums are computed.
constexpr std::uint64_t kPiece = std::uint64_t{512} << 10;
constexpr std::size_t kPieces = 4;  // in all: being read, waiting, being looked at

// A shard whose records are on their way.
struct Shard {
  std::string path;
  PackIndex index;
  std::int64_t before = 0;  // records of the shards before it
};

// Records of a shard that were read together: as many as fit into a piece, and at least one.
struct Piece {
  std::shared_ptr<const Shard> shard;
  std::int64_t begin = 0, end = 0;
  std::uint64_t offset = 0, bytes = 0;
  std::size_t got = 0;
  Array memory = {};  // at least as many bytes
  std::exception_ptr failure = {};
};

void choose(Piece& piece, const std::shared_ptr<const Shard>& shard, std::int64_t first) {
  const PackIndex& index = shard->index;
  piece.shard = shard;
  piece.begin = piece.end = first;
  piece.offset = index.place(first).offset;
  while (piece.end < index.size()) {
    const PackIndex::Place place = index.place(piece.end);
    const std::uint64_t bytes = place.offset + place.bytes - piece.offset;
    if (piece.end > first && bytes > kPiece) break;
    piece.bytes = bytes;
    ++piece.end;
  }
  if (piece.bytes > piece.memory.bytes()) piece.memory = Array(Type::U8, {static_cast<std::int64_t>(piece.bytes)});
}

// A thread reads ahead, so that the disk never waits for a checksum.
class Stream {
 public:
  explicit Stream(const std::filesystem::path& path) : set_(load_pack(path)) {
    for (std::size_t i = 0; i < kPieces; ++i) free_.push(Piece{});
    reader_ = std::jthread([this] {
      name_this_thread("pack reader");
      read_all();
    });
  }
  ~Stream() {
    free_.close();
    full_.close();
  }

  std::int64_t run(const std::function<void(const PassingRecord&)>& see) {
    std::int64_t seen = 0;
    while (auto piece = full_.pop()) {
      if (piece->failure) std::rethrow_exception(piece->failure);
      look(*piece, see);
      seen += piece->end - piece->begin;
      free_.push(*std::move(piece));
    }
    return seen;
  }

 private:
  static void look(const Piece& piece, const std::function<void(const PassingRecord&)>& see) {
    const Shard& shard = *piece.shard;
    for (std::int64_t i = piece.begin; i < piece.end; ++i) {
      const PackIndex::Place place = shard.index.place(i);
      const std::uint64_t at = place.offset - piece.offset;
      const std::string_view record = piece.memory.text().substr(at, place.bytes);
      if (at + place.bytes > piece.got || crc32c(record) != place.crc) throw wrong_record(shard.path, place, i);
      see({shard.before + i, record, shard.index.key(i)});
    }
  }

  void read_all() {
    try {
      std::int64_t before = 0;
      for (const std::string& path : set_.paths()) {
        const FileDescriptor file = detail::open_to_read(path);
        ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);  // the kernel then reads further ahead
        const auto shard = std::make_shared<const Shard>(Shard{path, load_pack_index(file, path), before});
        for (std::int64_t next = 0; next < shard->index.size();) {
          auto piece = free_.pop();
          if (!piece) return;  // nobody listens any more
          choose(*piece, shard, next);
          piece->got = detail::read_at(file, piece->offset, piece->memory.writable(), piece->bytes, path);
          next = piece->end;
          full_.push(*std::move(piece));
        }
        before += shard->index.size();
      }
    } catch (...) {
      Piece last;
      last.failure = std::current_exception();
      full_.push(std::move(last));
    }
    full_.close();  // what is inside can still be taken
  }

  const PackSet set_;
  BoundedQueue<Piece> free_{kPieces}, full_{kPieces + 1};  // room for a failure too
  std::jthread reader_;                                    // last: ends before what it uses
};

}  // namespace

std::int64_t stream_pack(const std::filesystem::path& path, const std::function<void(const PassingRecord&)>& see) {
  return Stream(path).run(see);
}

}  // namespace ronde::data::files
