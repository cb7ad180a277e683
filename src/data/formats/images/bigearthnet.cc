#include "ronde/data/formats/images/bigearthnet.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "ronde/base/error.h"
#include "ronde/data/io/file_io.h"

namespace ronde::data::files {
namespace {

namespace fs = std::filesystem;

// As BigEarthNet's JSONs spell them, which is not quite CORINE's way ("Peatbogs", "Bare rock", "Transitional
// woodland/shrub"); CORINE's 44th, glaciers, does not occur. The same as the 43 classes of torchgeo's BigEarthNet.
constexpr std::array<std::string_view, kEarthLabels> kLabels = {
    "Agro-forestry areas",
    "Airports",
    "Annual crops associated with permanent crops",
    "Bare rock",
    "Beaches, dunes, sands",
    "Broad-leaved forest",
    "Burnt areas",
    "Coastal lagoons",
    "Complex cultivation patterns",
    "Coniferous forest",
    "Construction sites",
    "Continuous urban fabric",
    "Discontinuous urban fabric",
    "Dump sites",
    "Estuaries",
    "Fruit trees and berry plantations",
    "Green urban areas",
    "Industrial or commercial units",
    "Inland marshes",
    "Intertidal flats",
    "Land principally occupied by agriculture, with significant areas of natural vegetation",
    "Mineral extraction sites",
    "Mixed forest",
    "Moors and heathland",
    "Natural grassland",
    "Non-irrigated arable land",
    "Olive groves",
    "Pastures",
    "Peatbogs",
    "Permanently irrigated land",
    "Port areas",
    "Rice fields",
    "Road and rail networks and associated land",
    "Salines",
    "Salt marshes",
    "Sclerophyllous vegetation",
    "Sea and ocean",
    "Sparsely vegetated areas",
    "Sport and leisure facilities",
    "Transitional woodland/shrub",
    "Vineyards",
    "Water bodies",
    "Water courses"};
static_assert(std::ranges::is_sorted(kLabels));

constexpr std::size_t kMostJson = 32 << 10;
constexpr std::string_view kJsonName = "_labels_metadata.json";

// Two bytes a pixel, and the tags of a GeoTIFF.
constexpr std::size_t most_bytes(const EarthBand& band) {
  return static_cast<std::size_t>(band.side) * static_cast<std::size_t>(band.side) * 2 + 8192;
}

constexpr std::size_t most_bytes_of_patch() {
  std::size_t sum = kEarthLabels * sizeof(float) + kMostJson + 1024;
  for (const EarthBand& band : kEarthBands) sum += most_bytes(band);
  return sum;
}

// All of a small file. Its size is asked of nobody: reading one byte more than it may have tells.
Array read_small(const fs::path& path, std::size_t most) {
  const std::string name = path.string();
  std::string bytes(most + 1, '\0');
  const std::size_t count = detail::read_at(detail::open_to_read(name), 0, bytes.data(), bytes.size(), name);
  if (count > most) throw Error::bad_input("{} is too large for a file of labels ({} bytes)", name, most);
  return Array::bytes_of(std::string_view(bytes).substr(0, count));
}

Array parse_labels(std::string_view text, const std::string& name) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("labels") || !json["labels"].is_array())
    throw Error::bad_input("{}: not a JSON file with a list of \"labels\"", name);
  Array flags(Type::F32, {static_cast<std::int64_t>(kEarthLabels)});
  std::ranges::fill(flags.values<float>(), 0.0f);
  for (const auto& label : json["labels"]) {
    const auto found =
        label.is_string() ? std::ranges::find(kLabels, label.get_ref<const std::string&>()) : kLabels.end();
    if (found == kLabels.end())
      throw Error::bad_input("{}: unknown label {}", name,
                             label.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    flags.values<float>()[static_cast<std::size_t>(found - kLabels.begin())] = 1.0f;
  }
  return flags;
}

class BigEarthNet final : public Records {
 public:
  BigEarthNet(fs::path folder, std::vector<std::string> patches)
      : folder_(std::move(folder)), patches_(std::move(patches)) {}

  std::string name() const override { return folder_.string(); }
  std::int64_t size() const override { return static_cast<std::int64_t>(patches_.size()); }
  std::size_t bytes(std::int64_t) const override { return most_bytes_of_patch(); }
  std::string where(std::int64_t index) const override { return patch(index); }
  std::string key(std::int64_t index) const override { return patch(index); }
  std::vector<std::string> classes() const override { return {kLabels.begin(), kLabels.end()}; }

  Sample read(std::int64_t index) const override {
    const std::string& name = patch(index);
    const fs::path start = folder_ / name / name;
    Sample sample;
    for (const EarthBand& band : kEarthBands)
      sample.set(band.name, read_small(start.string() + "_" + std::string(band.name) + ".tif", most_bytes(band)));
    const std::string json = start.string() + std::string(kJsonName);
    sample.set("labels", parse_labels(read_small(json, kMostJson).text(), json));
    sample.set("key", Array::bytes_of(name));
    return sample;
  }

 private:
  const std::string& patch(std::int64_t index) const { return patches_[static_cast<std::size_t>(index)]; }

  fs::path folder_;
  std::vector<std::string> patches_;
};

}  // namespace

std::unique_ptr<Records> open_bigearthnet(const RecordsOptions& options) {
  std::error_code failure;
  fs::directory_iterator entries(options.path, failure);
  if (failure) throw Error::bad_input("{}: {}", options.path.string(), failure.message());
  std::vector<std::string> patches;
  for (; entries != fs::directory_iterator(); entries.increment(failure)) {
    if (entries->is_directory(failure)) patches.push_back(entries->path().filename().string());
    if (options.progress && patches.size() % 4096 == 0) options.progress(static_cast<std::int64_t>(patches.size()), 0);
  }
  if (failure) throw Error::bad_input("{}: {}", options.path.string(), failure.message());
  if (patches.empty())
    throw Error::bad_input("{} holds no patches; each patch must be a folder of its own", options.path.string());
  std::ranges::sort(patches);
  return std::make_unique<BigEarthNet>(options.path, std::move(patches));
}

bool looks_like_bigearthnet(const fs::path& path) {
  std::error_code failure;
  for (fs::directory_iterator entries(path, failure), end; !failure && entries != end; entries.increment(failure)) {
    if (!entries->is_directory(failure)) continue;
    const std::string name = entries->path().filename().string();
    return fs::exists(entries->path() / (name + std::string(kJsonName)), failure);
  }
  return false;
}

}  // namespace ronde::data::files
