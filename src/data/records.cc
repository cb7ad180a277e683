#include "ronde/data/records.h"

#include <algorithm>
#include <array>
#include <string>
#include <system_error>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/data/formats/hdf5/hdf5.h"
#include "ronde/data/formats/images/bigearthnet.h"
#include "ronde/data/formats/images/cifar.h"
#include "ronde/data/formats/images/idx.h"
#include "ronde/data/formats/images/images.h"
#include "ronde/data/formats/pack/pack.h"
#include "ronde/data/formats/proto/lmdb.h"
#include "ronde/data/formats/proto/tfrecord.h"
#include "ronde/data/formats/table/csv.h"
#include "ronde/data/formats/table/npy.h"
#include "ronde/data/formats/tar/tar.h"

namespace ronde::data {
namespace {

namespace fs = std::filesystem;

struct Format {
  std::string_view name;
  std::unique_ptr<Records> (*open)(const RecordsOptions& options);
  bool (*looks_like)(const fs::path& path);
};

// In the order in which they are asked what a path looks like: an image folder is any folder with folders, so it is
// last.
constexpr auto kFormats = std::to_array<Format>({
    {"pack", files::open_pack, files::looks_like_pack},
    {"tar", files::open_tar, files::looks_like_tar},
    {"bigearthnet", files::open_bigearthnet, files::looks_like_bigearthnet},
    {"tfrecord", files::open_tfrecord, files::looks_like_tfrecord},
    {"lmdb", files::open_lmdb, files::looks_like_lmdb},
    {"hdf5", files::open_hdf5, files::looks_like_hdf5},
    {"csv", files::open_csv, files::looks_like_csv},
    {"npy", files::open_npy, files::looks_like_npy},
    {"idx", files::open_idx, files::looks_like_idx},
    {"cifar", files::open_cifar, files::looks_like_cifar},
    {"images", files::open_images, files::looks_like_images},
});

}  // namespace

std::string Records::key(std::int64_t index) const {
  return std::to_string(index);
}

std::vector<Range> Records::chunks() const {
  return {Range{0, size()}};
}

std::vector<std::string> record_formats() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  std::ranges::sort(names);
  return names;
}

std::string guess_format(const fs::path& path) {
  for (const Format& format : kFormats)
    if (format.looks_like(path)) return std::string(format.name);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) throw Error::bad_input("{} does not exist", path.string());
  throw Error::bad_input("{}: unrecognized data format ({})", path.string(), join(record_formats(), ", "));
}

std::unique_ptr<Records> open_records(const RecordsOptions& options) {
  if (options.path.empty()) throw Error::bad_input("missing data: give a file or a folder");
  const std::string name = options.format == "auto" ? guess_format(options.path) : options.format;
  const auto found = std::ranges::find(kFormats, name, &Format::name);
  if (found != kFormats.end()) return found->open(options);
  const auto names = record_formats();
  const auto meant = nearest(name, names);
  throw Error::bad_input("unknown file format '{}': {}", name,
                         meant ? fmt::format("did you mean '{}'?", *meant) : "choose one of " + join(names, ", "));
}

}  // namespace ronde::data
