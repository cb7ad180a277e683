#include "ronde/data/settings.h"

#include <string_view>

#include "ronde/base/settings/settings.h"
#include "ronde/base/system/cache.h"

namespace ronde::data {
namespace {

bool is_default(const Settings& settings, std::string_view key) {
  for (std::size_t i = 0; i < kSettings.size(); ++i)
    if (kSettings[i].key == key) return settings.entries()[i].origin == "default";
  return true;
}

}  // namespace

std::filesystem::path index_folder(const Environment& environment) {
  const auto cache = cache_folder(environment);
  return cache.empty() ? cache : cache / "index";
}

SourceOptions source_options(const Settings& settings, const Environment& environment, const std::string& name) {
  SourceOptions options{.name = name,
                        .path = settings.get<"data.path">(),
                        .samples = settings.get<"data.samples">(),
                        .classes = settings.get<"data.classes">(),
                        .channels = settings.get<"data.channels">(),
                        .resolution = settings.get<"data.resolution">(),
                        .seed = static_cast<std::uint64_t>(settings.get<"train.seed">()),
                        .augment = true,
                        .target = parse_target(settings.get<"data.target">())};
  if (is_stored(name)) {  // files know what is usual for them
    if (is_default(settings, "data.channels")) options.channels = 0;
    if (is_default(settings, "data.resolution")) options.resolution = 0;
  }
  options.test_path = settings.get<"data.test_path">();
  options.image = settings.get<"data.image">();
  options.label = settings.get<"data.label">();
  // mnist and cifar10 have means and deviations of their own, for who asks for no others.
  if (is_stored(name) || !is_default(settings, "data.normalize")) options.normalize = settings.get<"data.normalize">();
  options.cache = settings.get<"data.cache">();
  options.index_cache = index_folder(environment);
  options.picture.crop = parse_crop_scale(settings.get<"data.crop_scale">());
  options.picture.flip = settings.get<"data.flip">();
  options.picture.rotate = settings.get<"data.rotate">();
  options.picture.jitter = settings.get<"data.jitter">();
  options.picture.cutout = settings.get<"data.cutout">();
  return options;
}

PipelineOptions pipeline_options(const Settings& settings) {
  PipelineOptions options;
  options.threads = static_cast<int>(settings.get<"data.threads">());
  options.memory = settings.get<"data.memory">();
  options.ahead = static_cast<std::size_t>(settings.get<"data.prefetch">());
  options.skip_bad = settings.get<"data.on_error">() == "skip";
  return options;
}

}  // namespace ronde::data
