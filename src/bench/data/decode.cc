// How fast one core makes training samples of photographs, beside libjpeg-turbo that decodes the same ones and does
// nothing else with them.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/bench/benchmarks.h"
#include "ronde/bench/detail/command.h"
#include "ronde/data/picture/generate.h"
#include "ronde/data/picture/header.h"
#include "ronde/data/picture/jpeg/whole_jpeg.h"
#include "ronde/data/picture/picture_decoder.h"
#include "ronde/data/picture/reencode.h"

namespace ronde::bench {
namespace {

namespace fs = std::filesystem;
namespace picture = data::picture;

constexpr int kGenerated = 100;
constexpr std::size_t kMost = 2000, kSlots = 64;  // pictures of a folder; samples of a batch
constexpr int kQuality = 90;

struct Set {
  std::string name;
  std::vector<data::Sample> samples = {};
  std::size_t bytes = 0;

  void add(std::string_view jpeg) {
    data::Sample sample;
    sample.set("image", data::Array::bytes_of(jpeg));
    samples.push_back(std::move(sample));
    bytes += jpeg.size();
  }
};

Set generated() {
  Set set{.name = "generated 500x375"};
  for (int i = 0; i < kGenerated; ++i)
    set.add(picture::encode_jpeg(picture::generate_photograph(1, i), {.quality = kQuality, .optimise = false}));
  return set;
}

bool is_jpeg(const fs::path& path) {
  return path.extension() == ".jpg" || path.extension() == ".jpeg" || path.extension() == ".JPEG";
}

Set of_folder(const fs::path& folder) {
  if (!fs::is_directory(folder)) throw Error::bad_input("--dir {}: no such folder", folder.string());
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && is_jpeg(entry.path())) files.push_back(entry.path());
  if (files.empty()) throw Error::bad_input("--dir {}: no JPEG files found", folder.string());
  std::ranges::sort(files);
  Set set{.name = folder.filename().string()};
  for (std::size_t i = 0; i < std::min(files.size(), kMost); ++i) {
    std::ifstream stream(files[i], std::ios::binary);
    set.add(std::string(std::istreambuf_iterator<char>(stream), {}));
  }
  return set;
}

template <class Action>
double per_second(std::size_t count, Action&& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return static_cast<double>(count) / taken.count();
}

// Both take turns over the whole set; a turn of ours is an epoch, with crops of its own.
void measure(const Set& set, const Options& options, Report& report) {
  const auto decoder = data::make_picture_decoder({.target = data::Target::Input});
  const std::size_t values = decoder->kind().values();
  data::Array batch(data::Type::F32, {static_cast<std::int64_t>(kSlots * values)});
  const std::span<float> slots = batch.values<float>();
  std::ranges::fill(slots, 0.0f);  // so that memory is there
  picture::WholeJpeg library;
  std::vector<std::uint8_t> pixels;
  std::vector<double> ours, full, ratios;
  const std::size_t count = set.samples.size();
  for (int turn = 0; turn < std::max(options.turns, 3); ++turn) {
    full.push_back(per_second(count, [&] {
      for (const data::Sample& sample : set.samples) library.decode(sample.at("image").text(), pixels);
    }));
    ours.push_back(per_second(count, [&] {
      for (std::size_t i = 0; i < count; ++i)
        decoder->decode(set.samples[i], {.seed = 1, .epoch = turn, .index = static_cast<std::int64_t>(i)},
                        {.features = slots.subspan(i % kSlots * values, values)});
    }));
    ratios.push_back(ours.back() / full.back());
  }
  const double ratio = detail::median(ratios);
  report.rows.push_back({{"pictures", set.name},
                         {"count", count},
                         {"mean_bytes", set.bytes / count},
                         {"images_per_s", detail::median(ours)},
                         {"full_decode_per_s", detail::median(full)},
                         {"ratio_full_decode", ratio}});
  report.bars.push_back({.key = "ratio_full_decode_" + std::to_string(report.bars.size() + 1),
                         .words = "crop, resize, flip and normalise, against full decoding alone: " + set.name,
                         .value = ratio,
                         .bar = 1.0});
}

}  // namespace

Report run_decode(const Options& options) {
  Report report{.name = "decode"};
  std::vector<Set> sets;
  if (!options.folder.empty()) sets.push_back(of_folder(options.folder));
  sets.push_back(generated());
  for (const Set& set : sets) {
    options.log.info("{}: {} pictures on one core", set.name, set.samples.size());
    measure(set, options, report);
  }
  return report;
}

}  // namespace ronde::bench
