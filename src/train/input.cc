#include "ronde/train/input.h"

#include <algorithm>

#include "ronde/base/cache.h"
#include "ronde/base/environment.h"
#include "ronde/data/advice.h"
#include "ronde/data/records.h"

namespace ronde::train {
namespace {

bool is_default(const Settings& settings, std::string_view key) {
  for (std::size_t i = 0; i < kSettings.size(); ++i)
    if (kSettings[i].key == key) return settings.entries()[i].origin == "default";
  return true;
}

data::SourceOptions source_of(const Settings& settings, const Environment& environment) {
  data::SourceOptions options{.name = settings.get<"data.name">(),
                              .path = settings.get<"data.path">(),
                              .samples = settings.get<"data.samples">(),
                              .classes = settings.get<"data.classes">(),
                              .channels = settings.get<"data.channels">(),
                              .resolution = settings.get<"data.resolution">(),
                              .seed = static_cast<std::uint64_t>(settings.get<"train.seed">()),
                              .augment = true,
                              .target = data::parse_target(settings.get<"data.target">())};
  if (data::is_stored(options.name)) {  // files know what is usual for them
    if (is_default(settings, "data.channels")) options.channels = 0;
    if (is_default(settings, "data.resolution")) options.resolution = 0;
  }
  options.test_path = settings.get<"data.test_path">();
  options.image = settings.get<"data.image">();
  options.label = settings.get<"data.label">();
  options.normalize = settings.get<"data.normalize">();
  options.cache = settings.get<"data.cache">();
  options.index_cache = cache_folder(environment);
  options.picture.crop = data::parse_crop_scale(settings.get<"data.crop_scale">());
  options.picture.flip = settings.get<"data.flip">();
  options.picture.rotate = settings.get<"data.rotate">();
  options.picture.jitter = settings.get<"data.jitter">();
  options.picture.cutout = settings.get<"data.cutout">();
  if (settings.get<"model.channels_last">()) options.picture.layout = data::Layout::ChannelsLast;
  return options;
}

}  // namespace

data::Parts open_data(const Session& session) {
  const Settings& settings = session.settings();
  const auto open = [&] {
    return data::open_parts(source_of(settings, Environment::of_process()), settings.get<"data.test_samples">(),
                            settings.get<"data.split">());
  };
  const auto advise = [&](const data::Parts& parts) {
    const Log log({.level = parse_log_level(settings.get<"log.level">()), .rank = session.rank()});
    const auto facts = data::storage_facts(*parts.train->stored()->records, settings.get<"data.path">());
    for (const std::string& sentence : data::advise_on_storage(facts)) log.warn("{}", sentence);
  };
  if (!data::is_stored(settings.get<"data.name">())) return open();
  // An error of rank 0 reaches the others when it leaves.
  std::optional<data::Parts> parts;
  if (session.rank() == 0) {
    parts = open();
    advise(*parts);
  }
  if (session.size() > 1) session.world().barrier().wait();
  return parts ? std::move(*parts) : open();
}

data::PipelineOptions pipeline_of(const Session& session) {
  const Settings& settings = session.settings();
  data::PipelineOptions options;
  options.threads = static_cast<int>(settings.get<"data.threads">());
  options.memory = settings.get<"data.memory">();
  options.ahead = static_cast<std::size_t>(settings.get<"data.prefetch">());
  options.skip_bad = settings.get<"data.on_error">() == "skip";
  options.say = [log = Log({.level = parse_log_level(settings.get<"log.level">()), .rank = session.rank()})](
                    const std::string& sentence) { log.warn("{}", sentence); };
  options.recorder = session.recorder();
  return options;
}

std::int64_t window_of(const Settings& settings) {
  return settings.get<"data.shuffle">() == "chunks" ? settings.get<"data.window">() : 0;
}

std::string why_input_waits(const std::vector<data::StageStats>& stages) {
  // Who waits for input waits for some stage, even where that had to pause now and then.
  const std::string limit = data::limiting_stage(stages, 0.5);
  if (limit.empty()) return "no stage of the input is busy all the time: more data.prefetch may even it out";
  if (limit == "read") return "reading is the limit: data.cache, packs ('ronde data pack') or a faster disk would help";
  return fmt::format(
      "'{}' is the limit: more data.threads where there are cores, smaller pictures ('ronde data pack --short-side'), "
      "or "
      "fewer augmentations would help",
      limit);
}

}  // namespace ronde::train
