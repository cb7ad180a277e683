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
std::unique_ptr<data::Source> source_of(const DatasetEntry& entry, const Session& session, data::Split split) {
  const TrainingOptions& options = session.options();
  data::DatasetArrays arrays = entry.arrays;
  if (options.ignore_index >= 0) arrays.ignore = options.ignore_index;
  auto source = data::source_of(entry.samples(session.settings(), split), arrays, options.seed);
  const bool train = split == data::Split::Train;
  const std::int64_t wanted = train ? options.data.samples : options.data.test_samples;
  if (wanted == 0 || wanted == source->size()) return source;
  if (wanted > source->size())
    throw Error::bad_input("{} is {}, but '{}' has {} samples", train ? "data.samples" : "data.test_samples", wanted,
                           entry.name, source->size());
  return data::first_of(std::move(source), wanted);
}

// Of a dataset of the user's, shared out as data.split says.
data::Parts parts_of(const DatasetEntry& entry, const Session& session) {
  const auto open = [&](data::Split split) { return source_of(entry, session, split); };
  return data::divided(open, session.options().data.split, session.options().data.split_seed);
}

data::Parts open_known(const Session& session) {
  const TrainingOptions& options = session.options();
  const auto open = [&] {
    auto source = data::source_options(session.settings(), Environment::of_process(), options.data.name);
    source.picture.u8 = augments_on_device(options, session.device()) && options.data.augment.empty();
    if (options.model.channels_last) source.picture.layout = data::Layout::ChannelsLast;
    return data::open_parts(source, options.data.test_samples, options.data.split, options.data.split_seed);
  };
  const auto advise = [&](const data::Parts& parts) {
    const Log log({.level = options.log_level, .rank = session.rank()});
    const auto facts = data::storage_facts(*parts.train->stored()->records, options.data.path);
    for (const std::string& sentence : data::advise_on_storage(facts)) log.warn("{}", sentence);
  };
  if (!data::is_stored(options.data.name)) return open();
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
  const TrainingOptions& options = session.options();
  const auto augmentations = find_augmentations(session.registry(), options.data.augment);
  const DatasetEntry* own = find_dataset(session.registry(), options.data.name);
  data::Parts parts = own ? parts_of(*own, session) : open_known(session);
  if (!augmentations.empty()) parts.train = data::augmented(std::move(parts.train), augmentations, options.seed);
  return parts;
}

data::PipelineOptions pipeline_of(const Session& session) {
  data::PipelineOptions options = data::pipeline_options(session.settings());
  options.say = [log = Log({.level = session.options().log_level, .rank = session.rank()})](
                    const std::string& sentence) { log.warn("{}", sentence); };
  options.recorder = session.recorder();
  if (session.device().is_cuda()) options.device = session.device().index();
  return options;
}

data::Dataset training_data(const TrainingOptions& options, const data::Source& samples, std::uint64_t seed, int rank,
                            int ranks) {
  data::Dataset ordered = data::from_source(samples);
  if (options.data.shuffle == "chunks" && samples.stored())
    ordered = ordered | data::shuffle_chunks(seed, options.data.window);
  else if (options.data.shuffle != "off")
    ordered = ordered | data::shuffle(seed);
  // An epoch's rest is too small for some numbers of ranks.
  return ordered | data::global_batch(options.batch, data::steps::Last::Drop) | data::shard(rank, ranks) |
         data::repeat(options.epochs) | data::prefetch();
}

data::Dataset evaluation_data(const data::Source& samples, std::int64_t batch, int rank, int ranks) {
  return data::from_source(samples) | data::global_batch(batch) | data::shard(rank, ranks) | data::prefetch();
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
