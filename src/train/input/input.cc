#include "ronde/train/input/input.h"

#include "ronde/base/settings/environment.h"
#include "ronde/data/records.h"
#include "ronde/data/settings.h"
#include "ronde/data/tools/advice.h"
#include "ronde/train/input/device_input.h"
#include "ronde/train/registry.h"

namespace ronde::train {

namespace {

// The first so many of them; 0: all.
std::unique_ptr<data::Source> source_of(const DatasetEntry& entry, const Settings& settings, data::Split split) {
  const auto seed = static_cast<std::uint64_t>(settings.get<"train.seed">());
  auto source = data::source_of(entry.samples(settings, split), entry.arrays, seed);
  const bool train = split == data::Split::Train;
  const std::int64_t wanted = train ? settings.get<"data.samples">() : settings.get<"data.test_samples">();
  if (wanted == 0 || wanted == source->size()) return source;
  if (wanted > source->size())
    throw Error::bad_input("{} is {}, but '{}' has {} samples", train ? "data.samples" : "data.test_samples", wanted,
                           entry.name, source->size());
  return data::first_of(std::move(source), wanted);
}

// Of a dataset of the user's, shared out as data.split says.
data::Parts parts_of(const DatasetEntry& entry, const Settings& settings) {
  const auto open = [&](data::Split split) { return source_of(entry, settings, split); };
  return data::divided(open, settings.get<"data.split">(),
                       static_cast<std::uint64_t>(settings.get<"data.split_seed">()));
}

data::Parts open_known(const Session& session) {
  const Settings& settings = session.settings();
  const auto open = [&] {
    auto source = data::source_options(settings, Environment::of_process(), settings.get<"data.name">());
    source.picture.u8 = augments_on_device(settings, session.device()) && settings.get<"data.augment">().empty();
    if (settings.get<"model.channels_last">()) source.picture.layout = data::Layout::ChannelsLast;
    return data::open_parts(source, settings.get<"data.test_samples">(), settings.get<"data.split">(),
                            static_cast<std::uint64_t>(settings.get<"data.split_seed">()));
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

}  // namespace

data::Parts open_data(const Session& session) {
  const Settings& settings = session.settings();
  const auto augmentations = find_augmentations(session.registry(), settings);
  const DatasetEntry* own = find_dataset(session.registry(), settings.get<"data.name">());
  data::Parts parts = own ? parts_of(*own, settings) : open_known(session);
  if (!augmentations.empty())
    parts.train = data::augmented(std::move(parts.train), augmentations,
                                  static_cast<std::uint64_t>(settings.get<"train.seed">()));
  return parts;
}

data::PipelineOptions pipeline_of(const Session& session) {
  const Settings& settings = session.settings();
  data::PipelineOptions options = data::pipeline_options(settings);
  options.say = [log = Log({.level = parse_log_level(settings.get<"log.level">()), .rank = session.rank()})](
                    const std::string& sentence) { log.warn("{}", sentence); };
  options.recorder = session.recorder();
  if (session.device().is_cuda()) options.device = session.device().index();
  return options;
}

std::int64_t window_of(const Settings& settings) {
  return settings.get<"data.shuffle">() == "chunks" ? settings.get<"data.window">() : 0;
}

std::string why_input_waits(const std::vector<data::StageStats>& stages) {
  // Who waits for input waits for some stage, even where that had to pause now and then.
  const std::string limit = data::limiting_stage(stages, 0.5);
  if (limit.empty()) return "no stage of the input is busy all the time: a larger data.prefetch may smooth it";
  if (limit == "read") return "reading is the limit: data.cache, packs ('ronde data pack') or a faster disk would help";
  return fmt::format(
      "'{}' is the limit: more data.threads (if cores are free), smaller pictures ('ronde data pack --short-side') or "
      "fewer augmentations would help",
      limit);
}

}  // namespace ronde::train
