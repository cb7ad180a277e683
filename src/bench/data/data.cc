#include "ronde/bench/data/data.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/bench/detail/contestant.h"
#include "ronde/bench/detail/peers.h"
#include "ronde/bench/detail/scratch_folder.h"
#include "ronde/data/dataset.h"
#include "ronde/data/picture/generate.h"
#include "ronde/data/picture/jpeg/whole_jpeg.h"
#include "ronde/data/picture/reencode.h"
#include "ronde/data/records.h"
#include "ronde/data/tools/advice.h"
#include "ronde/topology/host.h"

namespace ronde::bench {
namespace {

namespace fs = std::filesystem;
using detail::Command;
using detail::median;

constexpr int kGenerated = 400, kGeneratedClasses = 4;
constexpr std::int64_t kPictures = 12'000;   // that a turn goes through at least: a pipeline has to get going
constexpr std::size_t kPeerPictures = 3000;  // peers keep their threads from turn to turn, and take longer
constexpr std::size_t kKept = 512 << 20;     // bytes of pictures that decoding alone has in memory

// What a piece of work took: time, and of all cores that worked on it, processor time. The latter says who does less
// even where other programs take their share of the machine.
struct Taken {
  double seconds = 0, processor = 0;
};

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Taken taken_by(const std::function<void()>& work) {
  const double before = processor_seconds();
  const auto start = std::chrono::steady_clock::now();
  work();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          processor_seconds() - before};
}

// Pictures a second, and processor time of one in us.
struct Speed {
  double per_second = 0, processor_us = 0;
};

Speed speed_of(std::int64_t pictures, const Taken& taken) {
  const auto count = static_cast<double>(pictures);
  return {count / taken.seconds, 1e6 * taken.processor / count};
}

struct Set {
  std::string name;
  std::unique_ptr<data::Source> source;
  fs::path folder = {};  // where peers find it; empty: they cannot read it
};

struct Figures {
  std::vector<double> ours, decode, disk;                // pictures a second
  std::vector<double> ours_processor, decode_processor;  // us of a picture
  std::vector<std::vector<double>> theirs = {};          // of each peer
  std::vector<data::StageStats> stages = {};
  double stage_seconds = 0;
  std::size_t peak_bytes = 0;
};

// Whole epochs, from nothing: the first batch counts, too.
Speed one_turn(const Set& set, const DataOptions& options, std::int64_t turn, Figures& figures) {
  const std::int64_t epochs = std::max<std::int64_t>(1, (kPictures + set.source->size() - 1) / set.source->size());
  std::int64_t seen = 0;
  const Taken taken = taken_by([&] {
    const data::Dataset batches = data::from_source(*set.source) | data::shuffle(1) |
                                  data::global_batch(options.batch) | data::repeat((turn + 1) * epochs) |
                                  data::prefetch();
    data::Pipeline pipeline = batches.open(options.pipeline, data::Position{.epoch = turn * epochs, .seed = 1});
    while (const auto batch = pipeline.next_batch()) seen += batch->size();
    figures.stages = pipeline.stages();
    figures.peak_bytes = std::max(figures.peak_bytes, pipeline.peak_bytes());
  });
  figures.stage_seconds = taken.seconds;
  return speed_of(seen, taken);
}

// The pictures as they are stored, as many as memory should hold.
std::vector<data::Sample> some_of(const data::Records& records) {
  std::vector<data::Sample> samples;
  std::size_t bytes = 0;
  for (std::int64_t i = 0; i < records.size() && bytes < kKept; ++i) try {
      samples.push_back(records.read(i));
      bytes += samples.back().bytes();
    } catch (const Error&) {  // the pipeline names it
    }
  return samples;
}

bool are_jpegs(const std::vector<data::Sample>& samples) {
  return !samples.empty() && std::ranges::all_of(samples, [](const data::Sample& sample) {
    const data::Array* image = sample.find("image");
    return image && image->type() == data::Type::U8 && image->text().starts_with("\xff\xd8\xff");
  });
}

// All of every picture, by libjpeg-turbo and nothing else, on as many threads.
Speed decode_alone(const std::vector<data::Sample>& samples, int threads) {
  std::atomic<std::size_t> next = 0;
  const std::size_t rounds = std::max<std::size_t>(1, (kPictures + samples.size() - 1) / samples.size());
  const Taken taken = taken_by([&] {
    std::vector<std::jthread> pool;
    for (int i = 0; i < threads; ++i)
      pool.emplace_back([&] {
        data::picture::WholeJpeg library;
        std::vector<std::uint8_t> pixels;
        for (std::size_t at = next++; at < rounds * samples.size(); at = next++)
          library.decode(samples[at % samples.size()].at("image").text(), pixels);
      });
  });
  return speed_of(static_cast<std::int64_t>(rounds * samples.size()), taken);
}

double disk_alone(const data::Records& records) {
  std::int64_t good = 0;
  const Taken taken = taken_by([&] {
    for (std::int64_t i = 0; i < records.size(); ++i) try {
        records.read(i);
        ++good;
      } catch (const Error&) {
      }
  });
  return static_cast<double>(good) / taken.seconds;
}

fs::path generate(const fs::path& folder) {
  for (int i = 0; i < kGenerated; ++i) {
    const fs::path in = folder / fmt::format("class-{}", i % kGeneratedClasses);
    fs::create_directories(in);
    std::ofstream(in / fmt::format("{:04}.jpg", i), std::ios::binary)
        << data::picture::encode_jpeg(data::picture::generate_photograph(1, i), {.quality = 90, .optimise = false});
  }
  return folder;
}

std::vector<detail::Entrant> entrants_for(const Set& set, const DataOptions& options, int threads) {
  std::vector<detail::Entrant> entrants;
  for (const char* name : {"dataloader", "tfdata"})
    entrants.push_back({.name = name,
                        .command = {detail::peer_python(options.python), "-c", detail::kDataPeers, name,
                                    set.folder.string(), std::to_string(set.source->kind().height),
                                    std::to_string(options.batch), std::to_string(threads)}});
  return entrants;
}

void add_stages(Report& report, const Set& set, const Figures& figures) {
  Section section{.key = fmt::format("stages_{}", report.sections.size() + 1),
                  .words = fmt::format("the stages of {}, in the last turn", set.name)};
  for (const data::StageStats& stage : figures.stages) {
    const double all = std::chrono::duration<double>(stage.busy + stage.input + stage.room).count();
    const auto share = [&](std::chrono::nanoseconds part) {
      return all > 0 ? std::chrono::duration<double>(part).count() / all : 0;
    };
    section.rows.push_back({{"stage", stage.name},
                            {"threads", stage.threads},
                            {"busy", share(stage.busy)},
                            {"waits_for_input", share(stage.input)},
                            {"waits_for_room", share(stage.room)},
                            {"samples_per_s", static_cast<double>(stage.samples) / figures.stage_seconds},
                            {"bytes_per_s", static_cast<double>(stage.bytes) / figures.stage_seconds}});
  }
  report.sections.push_back(std::move(section));
}

using Peers = std::vector<std::unique_ptr<detail::Contestant>>;

// All contestants in turns, so that what disturbs one disturbs the others. `kept`: for decoding alone; none: without
// it.
Figures take_turns(const Set& set, const DataOptions& options, int threads, const std::vector<data::Sample>& kept,
                   const Peers& peers) {
  Figures figures;
  figures.theirs.resize(peers.size());
  const Command pictures{.what = "pictures", .bytes = kPeerPictures};
  for (int turn = -1; turn < options.turns; ++turn) {  // the first one only warms up
    const Speed ours = one_turn(set, options, turn + 1, figures);
    const Speed decode = kept.empty() ? Speed{} : decode_alone(kept, threads);
    const double disk = disk_alone(*set.source->stored()->records);
    if (turn >= 0) {
      figures.ours.push_back(ours.per_second);
      figures.decode.push_back(decode.per_second);
      figures.ours_processor.push_back(ours.processor_us);
      figures.decode_processor.push_back(decode.processor_us);
      figures.disk.push_back(disk);
    }
    for (std::size_t i = 0; i < peers.size(); ++i)
      if (const auto us = peers[i]->ask(pictures); us && turn >= 0) figures.theirs[i].push_back(1e6 / *us);
  }
  return figures;
}

void measure(const Set& set, const DataOptions& options, Report& report) {
  const int threads = options.pipeline.threads > 0 ? options.pipeline.threads : topology::usable_cores();
  const data::Records& records = *set.source->stored()->records;
  for (const std::string& sentence : data::advise_on_storage(data::storage_facts(records, set.folder)))
    options.log.warn("{}", sentence);
  std::vector<data::Sample> kept = some_of(records);
  const bool jpegs = are_jpegs(kept);
  if (!jpegs) kept.clear();
  Peers peers;
  if (options.compare && !set.folder.empty())
    peers = detail::start_peers(entrants_for(set, options, threads), options.log);
  const Figures figures = take_turns(set, options, threads, kept, peers);
  const auto& theirs = figures.theirs;
  const double ours = median(figures.ours), decode = median(figures.decode);
  nlohmann::ordered_json row = {
      {"pictures", set.name},
      {"count", set.source->size()},
      {"threads", threads},
      {"images_per_s", ours},
      {"decode_limit_per_s", jpegs ? nlohmann::ordered_json(decode) : nullptr},
      {"share_of_limit", jpegs ? nlohmann::ordered_json(ours / decode) : nullptr},
      {"cpu_us", median(figures.ours_processor)},
      {"decode_cpu_us", jpegs ? nlohmann::ordered_json(median(figures.decode_processor)) : nullptr},
      {"disk_limit_per_s", median(figures.disk)},
      {"peak_bytes", figures.peak_bytes}};
  if (options.compare)
    for (const char* name : {"dataloader", "tfdata"}) {
      const auto peer = std::ranges::find(peers, name, [](const auto& one) { return one->name(); });
      const auto at = static_cast<std::size_t>(peer - peers.begin());
      const bool there = at < peers.size() && !theirs[at].empty();
      row[fmt::format("{}_per_s", name)] = there ? nlohmann::ordered_json(median(theirs[at])) : nullptr;
      row[fmt::format("ratio_{}", name)] = there ? nlohmann::ordered_json(ours / median(theirs[at])) : nullptr;
      const double bar = name == std::string_view("tfdata") ? 1.6 : 2.2;
      if (there && jpegs)
        report.bars.push_back({.key = fmt::format("ratio_{}_{}", name, report.rows.size() + 1),
                               .words = fmt::format("images/s against {}: {}", name, set.name),
                               .value = ours / median(theirs[at]),
                               .bar = bar});
    }
  report.rows.push_back(std::move(row));
  if (jpegs)
    report.bars.push_back({.key = fmt::format("share_of_limit_{}", report.rows.size()),
                           .words = "images/s against full decoding alone: " + set.name,
                           .value = ours / decode,
                           .bar = 1.0});
  add_stages(report, set, figures);
}

}  // namespace

Report run_data(const DataOptions& options) {
  Report report{.name = "data"};
  const detail::ScratchFolder scratch;
  const auto open = [&](data::SourceOptions source, const std::string& name, const fs::path& folder) {
    measure({name, data::open_source(source), folder}, options, report);
  };
  if (!options.source.path.empty()) {
    options.log.info("{}: {} turns", options.source.path, options.turns);
    open(options.source, fs::path(options.source.path).filename().string(),
         options.source.name == "images" ? fs::path(options.source.path) : fs::path());
  }
  options.log.info("generated photographs: {} turns", options.turns);
  data::SourceOptions generated = options.source;
  generated.name = "images";
  generated.path = generate(scratch.path()).string();
  generated.samples = 0;
  generated.progress = {};
  open(generated, "generated 500x375", generated.path);
  return report;
}

}  // namespace ronde::bench
