#include "targets.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "comm_targets.h"
#include "ronde/base/error.h"
#include "ronde/base/system/file_descriptor.h"
#include "ronde/data/formats/images/cifar_source.h"
#include "ronde/data/formats/images/idx_source.h"
#include "ronde/data/formats/images/images_index.h"
#include "ronde/data/formats/index_file.h"
#include "ronde/data/formats/naming.h"
#include "ronde/data/formats/pack/pack_format.h"
#include "ronde/data/formats/pack/pack_manifest.h"
#include "ronde/data/formats/proto/datum.h"
#include "ronde/data/formats/proto/example.h"
#include "ronde/data/formats/proto/lmdb_pages.h"
#include "ronde/data/formats/proto/tfrecord_framing.h"
#include "ronde/data/formats/shard_names.h"
#include "ronde/data/formats/shards.h"
#include "ronde/data/formats/table/csv_parse.h"
#include "ronde/data/formats/table/npy_header.h"
#include "ronde/data/formats/tar/tar_format.h"
#include "ronde/data/picture/header.h"
#include "ronde/data/picture/reencode.h"
#include "ronde/data/picture/tiff.h"
#include "ronde/data/records.h"
#include "ronde/trace/file/run.h"

namespace ronde::data::fuzz {
namespace {

using namespace files;

// Memory of just the size, so that a byte too far is found.
std::shared_ptr<const std::string> kept(std::string_view bytes) {
  return std::make_shared<const std::string>(bytes);
}

// Looks at every byte of a sample.
void use(const Sample& sample) {
  std::uint64_t sum = 0;
  for (const auto& [name, array] : sample.arrays())
    for (const char byte : array.text()) sum += static_cast<unsigned char>(byte);
  volatile std::uint64_t sink = sum;
  (void)sink;
}

void use_all(const Records& records) {
  for (std::int64_t i = 0; i < records.size() && i < 100; ++i) {
    records.bytes(i);
    records.where(i);
    use(records.read(i));
  }
}

// A file with these bytes, in memory: a disk would only be slow.
class OneFile {
 public:
  OneFile() : file_(::memfd_create("fuzz", MFD_CLOEXEC)) {}

  std::filesystem::path with(std::string_view bytes) const {
    if (::ftruncate(file_.get(), 0) != 0) abort();
    if (::pwrite(file_.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) abort();
    return "/proc/self/fd/" + std::to_string(file_.get());
  }

 private:
  const FileDescriptor file_;
};

void tfrecord(std::string_view bytes) {
  std::size_t offset = 0;
  for (std::string_view rest = bytes; !rest.empty();) {
    const std::size_t before = rest.size();
    take_tfrecord(rest, "f", offset);
    offset += before - rest.size();
  }
}

void example(std::string_view bytes) {
  const auto owner = kept(bytes);
  Sample sample = parse_example(*owner, "e", owner);
  use(sample);
  use(parse_example(encode_example(sample), "again", nullptr));
  use_our_names(sample, {.classes = {"a", "b"}}, "e");
}

void datum(std::string_view bytes) {
  const auto owner = kept(bytes);
  use(parse_datum(*owner, "d", owner));
}

void npy(std::string_view bytes) {
  const auto owner = kept(bytes);
  const NpyHeader header = parse_npy_header(*owner, "n");
  if (parse_npy_header(npy_header(header.type, header.shape) + owner->substr(header.begin), "again").shape !=
      header.shape)
    abort();
}

void csv(std::string_view bytes) {
  static const OneFile file;
  use_all(*open_records({.path = file.with(bytes), .format = "csv"}));
}

void idx(std::string_view bytes) {
  const auto owner = kept(bytes);
  const detail::Bytes all(reinterpret_cast<const std::uint8_t*>(owner->data()), owner->size());
  for (const std::size_t dimensions : {1, 3}) {
    try {
      detail::parse_idx(all, dimensions, "i");
    } catch (const Error&) {  // the other is tried too
    }
  }
}

void cifar(std::string_view bytes) {
  static const OneFile file;
  use_all(*open_records({.path = file.with(bytes), .format = "cifar"}));
}

void lmdb(std::string_view bytes) {
  const auto owner = kept(bytes);
  scan_lmdb(*owner, "l", [&](const LmdbEntry& entry) {
    if (entry.offset > owner->size() || entry.bytes > owner->size() - entry.offset) abort();
  });
}

void index(std::string_view bytes) {
  const IndexView view(*kept(bytes), {.kind = 0x54465231, .version = 1}, 2, "x");
}

void images_index(std::string_view bytes) {
  const auto owner = kept(bytes);
  const ImageIndex found(*owner, "x");
  for (std::int64_t i = 0; i < found.size() && i < 100; ++i) found.path_of(i) + std::to_string(found.class_of(i));
}

void shards(std::string_view bytes) {
  check_complete(expand_braces(bytes), "f");
}

void tar(std::string_view bytes) {
  const auto owner = kept(bytes);
  TarWalk walk(*owner, "t");
  while (const auto member = walk.next())
    if (member->offset > owner->size() || member->size > owner->size() - member->offset) abort();
}

void pack(std::string_view bytes) {
  const auto owner = kept(bytes);
  const PackIndex found = parse_pack_shard(*owner, "p");
  for (std::int64_t i = 0; i < found.size() && i < 100; ++i) {
    const auto place = found.place(i);
    found.key(i);
    use(decode_pack_record(owner->substr(place.offset, place.bytes), found.schema(i), owner, "p"));
  }
}

void pack_json(std::string_view bytes) {
  parse_pack_manifest(bytes, "p");
}

void picture(std::string_view bytes) {
  const auto owner = kept(bytes);
  const picture::Header header = picture::read_header(*owner);
  if (std::int64_t{header.width} * header.height > 1 << 20 || header.piece_bytes > 1 << 22) return;  // only slow
  for (const int channels : {1, 3}) picture::decode_pixels(*owner, channels);
}

void trace_file(std::string_view bytes) {
  static const OneFile file;
  const trace::Run run = trace::read_run(file.with(bytes), {.threads = 1});
  for (const trace::RankTrace& rank : run.ranks)
    for (const trace::Lane& lane : rank.lanes)
      for (const trace::LaneSpan& span : lane.spans)
        if (span.time.begin > span.time.end || span.name >= run.names.size()) abort();
}

// As numbers, which are of more kinds than pictures are; 'picture' decodes those that are pictures.
void tiff(std::string_view bytes) {
  const auto owner = kept(bytes);
  std::vector<float> values;
  std::vector<std::uint8_t> strip;
  const picture::TiffHeader header = picture::read_tiff_header(*owner);
  if (header.values() > 1 << 20 || header.piece_bytes > 1 << 22) return;  // large ones are only slow
  picture::read_tiff(*owner, values, strip);
}

constexpr auto kTargets = std::to_array<Target>({{"tfrecord", tfrecord},
                                                 {"example", example},
                                                 {"datum", datum},
                                                 {"npy", npy},
                                                 {"csv", csv},
                                                 {"idx", idx},
                                                 {"cifar", cifar},
                                                 {"lmdb", lmdb},
                                                 {"index", index},
                                                 {"images_index", images_index},
                                                 {"shards", shards},
                                                 {"tar", tar},
                                                 {"pack", pack},
                                                 {"pack_json", pack_json},
                                                 {"picture", picture},
                                                 {"tiff", tiff},
                                                 {"trace", trace_file}});

}  // namespace

const Target* find_target(std::string_view name) {
  for (const Target& target : kTargets)
    if (target.name == name) return &target;
  for (const Target& target : comm_targets())
    if (target.name == name) return &target;
  return nullptr;
}

}  // namespace ronde::data::fuzz
