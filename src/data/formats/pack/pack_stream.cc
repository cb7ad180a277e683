#include "ronde/data/formats/pack/pack_stream.h"

#include <deque>
#include <exception>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>

#include "ronde/base/error.h"
#include "ronde/base/system/mutex.h"
#include "ronde/base/system/queue.h"
#include "ronde/base/system/thread.h"
#include "ronde/base/wire/crc32c.h"
#include "ronde/data/array.h"
#include "ronde/data/formats/pack/pack_shard.h"
#include "ronde/data/io/file_io.h"
#include "ronde/topology/host.h"

namespace ronde::data::files {
namespace {

// What is read at once: long enough that handing it over costs nothing, and still in a cache of the processor when its
// checksums are computed.
constexpr std::uint64_t kPiece = std::uint64_t{512} << 10;
constexpr std::size_t kPieces = 3;                            // of each reader: being read, waiting, being looked at
constexpr std::uint64_t kBeginning = std::uint64_t{8} << 20;  // that the disk reads while the first index is looked at

// Two, in turns: while one copies what the kernel has read, the other keeps the disk busy. But they need cores of their
// own, besides the one that computes checksums.
std::size_t readers_here() {
  return topology::usable_cores() > 2 ? 2 : 1;
}

// A shard whose records are on their way.
struct Shard {
  std::string path;
  PackIndex index;
  std::int64_t before = 0;  // records of the shards before it
};

// The shards of a pack, in order. The next one's index is read while the records of one pass by: otherwise the disk had
// a pause at the beginning of each. Safe to call from any thread.
class Shards {
 public:
  explicit Shards(const std::filesystem::path& path) : set_(load_pack(path)), paths_(set_.paths()) {
    std::int64_t before = 0;
    for (const PackShardFacts& facts : set_.manifest.shards) {
      before_.push_back(before);
      before += facts.samples;
    }
  }

  std::size_t size() const { return paths_.size(); }

  // Waits for it. FAILS WITH: BadInput, System.
  std::shared_ptr<const Shard> get(std::size_t i) {
    Coming wanted;
    {
      const Lock lock(mutex_);
      wanted = begin(i);
      if (i + 1 < size()) begin(i + 1);
      if (i > 0) coming_.erase(coming_.begin(), coming_.lower_bound(i - 1));
    }
    return wanted.get();
  }

 private:
  using Coming = std::shared_future<std::shared_ptr<const Shard>>;

  Coming begin(std::size_t i) RONDE_REQUIRES(mutex_) {
    Coming& coming = coming_[i];
    if (!coming.valid()) coming = std::async(std::launch::async, [this, i] { return load(i); }).share();
    return coming;
  }

  std::shared_ptr<const Shard> load(std::size_t i) const {
    name_this_thread("pack index");
    const FileDescriptor file = detail::open_to_read(paths_[i]);
    if (i == 0) ::posix_fadvise(file.get(), 0, kBeginning, POSIX_FADV_WILLNEED);
    Shard shard{paths_[i], load_pack_index(file, paths_[i]), before_[i]};
    if (const std::int64_t said = set_.manifest.shards[i].samples; shard.index.size() != said)
      throw Error::bad_input("{} holds {} samples, but {} says {}", paths_[i], shard.index.size(), kPackManifest, said);
    return std::make_shared<const Shard>(std::move(shard));
  }

  const PackSet set_;
  const std::vector<std::string> paths_;
  std::vector<std::int64_t> before_;
  Mutex mutex_;
  std::map<std::size_t, Coming> coming_ RONDE_GUARDED_BY(mutex_);  // last: what is being loaded uses the others
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

// Behind the last record of the piece that begins with `first`: pure, so that all readers agree.
std::int64_t piece_end(const PackIndex& index, std::int64_t first) {
  const std::uint64_t most = index.place(first).offset + kPiece;
  // The last record that ends before: offsets ascend.
  std::int64_t low = first + 1, high = index.size();
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    const PackIndex::Place place = index.place(middle);
    if (place.offset + place.bytes <= most)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void choose(Piece& piece, const std::shared_ptr<const Shard>& shard, std::int64_t first) {
  const PackIndex& index = shard->index;
  piece.shard = shard;
  piece.begin = first;
  piece.end = piece_end(index, first);
  piece.offset = index.place(first).offset;
  const PackIndex::Place last = index.place(piece.end - 1);
  piece.bytes = last.offset + last.bytes - piece.offset;
  if (piece.bytes > piece.memory.bytes()) piece.memory = Array(Type::U8, {static_cast<std::int64_t>(piece.bytes)});
}

// Threads read ahead, so that the disk never waits for a checksum. All of them go through the same pieces, and each
// reads every so-many-th.
class Stream {
 public:
  Stream(const std::filesystem::path& path, std::size_t readers) : shards_(path), readers_(readers) {
    for (std::size_t number = 0; number < readers_.size(); ++number) {
      Reader& reader = readers_[number];
      for (std::size_t i = 0; i < kPieces; ++i) reader.free.push(Piece{});
      reader.thread = std::jthread([this, number] {
        name_this_thread("pack reader");
        read_all(number);
      });
    }
  }
  std::int64_t run(const std::function<void(const PassingRecord&)>& see) {
    std::int64_t seen = 0;
    for (std::size_t next = 0;; next = (next + 1) % readers_.size()) {
      Reader& reader = readers_[next];
      auto piece = reader.full.pop();
      if (!piece) return seen;
      if (piece->failure) std::rethrow_exception(piece->failure);
      look(*piece, see);
      seen += piece->end - piece->begin;
      reader.free.push(*std::move(piece));
    }
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

  struct Reader {
    ~Reader() {  // who waits for a piece waits no longer
      free.close();
      full.close();
    }
    BoundedQueue<Piece> free{kPieces}, full{kPieces + 1};  // room for a failure too
    std::jthread thread;                                   // last: ends before what it uses
  };

  void read_all(std::size_t number) {
    Reader& reader = readers_[number];
    try {
      for (std::size_t i = 0, turn = 0; i < shards_.size(); ++i) {
        const auto shard = shards_.get(i);
        const FileDescriptor file = detail::open_to_read(shard->path);
        ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);  // the kernel then reads further ahead
        for (std::int64_t next = 0; next < shard->index.size(); turn = (turn + 1) % readers_.size()) {
          if (turn != number) {
            next = piece_end(shard->index, next);
            continue;
          }
          auto piece = reader.free.pop();
          if (!piece) return;  // nobody listens any more
          choose(*piece, shard, next);
          piece->got = detail::read_at(file, piece->offset, piece->memory.writable(), piece->bytes, shard->path);
          next = piece->end;
          reader.full.push(*std::move(piece));
        }
      }
    } catch (...) {
      Piece last;
      last.failure = std::current_exception();
      reader.full.push(std::move(last));
    }
    reader.full.close();  // what is inside can still be taken
  }

  Shards shards_;
  std::deque<Reader> readers_;  // last: they end before what they use
};

}  // namespace

std::int64_t stream_pack(const std::filesystem::path& path, const std::function<void(const PassingRecord&)>& see,
                         const StreamOptions& options) {
  return Stream(path, options.readers > 0 ? static_cast<std::size_t>(options.readers) : readers_here()).run(see);
}

}  // namespace ronde::data::files
