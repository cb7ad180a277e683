#include "ronde/train/loop/checkpoint_manager.h"

#include <algorithm>
#include <ranges>

#include "ronde/base/error.h"
#include "ronde/base/settings/settings.h"
#include "ronde/base/system/clock.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/models/tensor_map.h"
#include "ronde/parallel/collectives.h"
#include "ronde/trace/span.h"
#include "ronde/trace/span_names.h"
#include "ronde/train/checkpoint/checkpoint_folder.h"
#include "ronde/train/checkpoint/checkpoint_optimizer.h"
#include "ronde/train/optim/finite.h"

namespace ronde::train {
namespace {

namespace fs = std::filesystem;

constexpr auto kFirstAutomatic = std::chrono::minutes(1);  // soon, since its cost is not known before
constexpr int kMostCopies = 4;  // of the weights in a checkpoint: optimizers keep up to two more, train.ema one

constexpr std::string_view kFound = "found.";  // in a checkpoint's extra: what its settings had come to

constexpr char kRefused = '!';  // stands before what rank 0 says of a checkpoint that it cannot go on from

// What the extra of a checkpoint holds of the training itself, apart from where it stands.
bool is_fact(const std::string& key) {
  return key == kGivenSettings || key.starts_with(kFound);
}

TrainingFacts facts_of(const CheckpointInfo& info) {
  TrainingFacts facts{.settings = info.settings, .ranks = info.ranks};
  for (const auto& [key, text] : info.extra)
    if (key.starts_with(kFound)) facts.found[key.substr(kFound.size())] = text;
  return facts;
}

// Folders of trainings that have a checkpoint, such as ronde-output has them.
std::vector<fs::path> trainings_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code failure;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end; at.increment(failure))
    if (newest_checkpoint(at->path() / "checkpoints")) found.push_back(at->path());
  std::ranges::sort(found);
  return found;
}

std::unique_ptr<CheckpointWriter> writer_for(const Session& session, const fs::path& folder, bool sharded,
                                             std::int64_t keep) {
  CheckpointWriterOptions writer{.checkpoint = {.folder = folder, .keep = static_cast<int>(keep)},
                                 .background = session.options().checkpoint.background,
                                 .recorder = session.recorder()};
  if (sharded) {  // in a group of their own: training goes on in the world
    std::vector<int> all;
    for (int rank = 0; rank < session.size(); ++rank) all.push_back(rank);
    writer.checkpoint.group = session.engine().make_group(std::move(all));
  }
  if (!sharded && session.rank() != 0) return nullptr;
  return std::make_unique<CheckpointWriter>(std::move(writer));
}

}  // namespace

Every parse_every(std::string_view text) {
  if (trim(text) == "auto") return {.automatic = true};
  if (const auto steps = parse_number<std::int64_t>(trim(text)); steps && *steps >= 0) return {.steps = *steps};
  try {
    const auto time = parse_duration(text);
    if (time.count() > 0) return {.time = time};
  } catch (const Error&) {  // said better below
  }
  throw Error::bad_input(
      "checkpoint.every is '{}': write a number of steps (500), a time (10min), auto, or 0 for the end only", text);
}

fs::path find_checkpoint(const fs::path& path) {
  if (fs::exists(path / "manifest.json")) return path;
  for (const fs::path& folder : {path / "checkpoints", path})
    if (const auto newest = newest_checkpoint(folder)) return *newest;
  const auto trainings = trainings_in(path);
  if (trainings.size() == 1) return *newest_checkpoint(trainings.front() / "checkpoints");
  std::vector<std::string> names;
  for (const fs::path& training : trainings) names.push_back(training.string());
  if (!names.empty())
    throw Error::bad_input("{} holds {} trainings; choose one of {}", path.string(), names.size(), join(names, ", "));
  throw Error::bad_input("{} is not a checkpoint and contains none", path.string());
}

CheckpointManager::CheckpointManager(const Session& session, Log log, std::map<std::string, std::string> found)
    : session_(session),
      log_(std::move(log)),
      every_(parse_every(session.options().checkpoint.every)),
      sharded_(session.options().checkpoint.sharded && session.size() > 1),
      folder_(session.options().output / "checkpoints"),
      best_folder_(session.options().output / "best"),
      found_(std::move(found)),
      writer_(writer_for(session, folder_, sharded_, session.options().checkpoint.keep)),
      best_writer_(session.options().checkpoint.best.empty() ? nullptr
                                                             : writer_for(session, best_folder_, sharded_, 1)),
      kept_at_(monotonic_now()),
      interval_(std::min<std::chrono::nanoseconds>(kFirstAutomatic,
                                                   session.options().checkpoint.mtbf / session.engine().nodes())) {}

CheckpointManager::~CheckpointManager() = default;

std::optional<fs::path> CheckpointManager::chosen() const {
  const std::string wanted = session_.options().checkpoint.resume;
  if (wanted == "none" || wanted == "never") return {};
  if (wanted == "auto") return newest_checkpoint(folder_, [this](const std::string& text) { log_.warn("{}", text); });
  return find_checkpoint(wanted);
}

// A training that starts anew, or from an older checkpoint, comes to steps that there are checkpoints of: these would
// pass for its own.
void CheckpointManager::put_aside(std::int64_t last_step) const {
  put_aside(folder_, last_step);
  put_aside(best_folder_, last_step);
}

void CheckpointManager::put_aside(const fs::path& folder, std::int64_t last_step) const {
  std::vector<fs::path> newer;
  for (const fs::path& checkpoint : list_checkpoints(folder))
    if (step_of(checkpoint.filename().string()).value_or(0) > last_step) newer.push_back(checkpoint);
  if (newer.empty()) return;
  fs::path aside;
  for (int number = 1; aside.empty() || fs::exists(aside); ++number)
    aside = fmt::format("{}.{}", folder.string(), number);
  fs::create_directory(aside);
  for (const fs::path& checkpoint : newer) fs::rename(checkpoint, aside / checkpoint.filename());
  log_.info("checkpoints of later steps from an earlier training were moved to {}", aside.string());
}

TrainingFacts CheckpointManager::facts() const {
  TrainingFacts facts{.found = found_, .ranks = session_.size()};
  for (std::size_t i = 0; i < kSettings.size(); ++i)
    facts.settings[std::string(kSettings[i].key)] = session_.settings().entries()[i].text;
  return facts;
}

// Why training must not go on from there; empty: it may, and what differs has been said.
std::string CheckpointManager::objection_to(const fs::path& path) const {
  const Differences differences = differences_of(facts_of(read_manifest(path).info), facts());
  if (!differences.known)
    log_.warn("{} does not contain the settings of its training: only its tensors are compared", path.string());
  if (!differences.refused.empty()) {
    if (!session_.options().checkpoint.accept_differences) return refusal(path.string(), differences);
    log_.warn("{} is from a different training, which checkpoint.accept_differences allows: {}", path.string(),
              in_one_line(differences.refused));
  }
  if (!differences.told.empty()) log_.info("settings changed since the checkpoint: {}", in_one_line(differences.told));
  return {};
}

// On rank 0: loads what is to be gone on from, and returns where it stands, for the others; or why that cannot be.
std::string CheckpointManager::find(models::Network& network, torch::optim::Optimizer& optimizer,
                                    WeightAverage* average, TrainingState& state) {
  const auto path = chosen();
  if (!path) {
    put_aside(-1);
    return {};
  }
  if (std::string why_not = objection_to(*path); !why_not.empty()) return kRefused + std::move(why_not);
  load(*path, network, optimizer, average, state);
  std::string found = fmt::format("{}\n{}", state.step, data::to_text(state.position));
  for (const auto& [key, value] : state.extra) found += fmt::format("\n{}={}", key, value);
  started_from_ = *path;
  put_aside(state.step);
  return found;
}

// Only rank 0 need see the files.
std::optional<TrainingState> CheckpointManager::resume(models::Network& network, torch::optim::Optimizer& optimizer,
                                                       WeightAverage* average) {
  TrainingState state;
  std::string found;
  if (session_.rank() == 0) found = find(network, optimizer, average, state);
  found = parallel::broadcast_text(std::move(found), session_.world());
  if (found.empty()) return {};
  if (found.front() == kRefused)  // one table is enough
    throw Error::bad_input(
        "{}", session_.rank() == 0 ? found.substr(1) : "rank 0 cannot resume from the checkpoint; see its message");
  broadcast_parameters(network, session_.world());
  broadcast_optimizer(optimizer, session_.world());
  if (average) {
    parallel::broadcast_tensors(average->of_parameters(), session_.world());
    parallel::broadcast_tensors(average->of_buffers(), session_.world());
  }
  const auto lines = split(found, '\n');
  state.step = *parse_number<std::int64_t>(lines[0]);
  state.position = data::parse_position(lines[1]);
  for (const auto line : lines | std::views::drop(2)) {
    const auto equals = line.find('=');
    state.extra[std::string(line.substr(0, equals))] = line.substr(equals + 1);
  }
  kept_step_ = state.step;
  kept_extra_ = state.extra;
  return state;
}

void CheckpointManager::load(const fs::path& path, models::Network& network, torch::optim::Optimizer& optimizer,
                             WeightAverage* average, TrainingState& state) {
  RONDE_SPAN(trace::span_names::kLoad);
  const Checkpoint checkpoint = load_checkpoint(path);
  models::copy_values(checkpoint.model, models::state_of(network), path.string());
  restore_state(optimizer, network.named_parameters(), checkpoint.optimizer, path.string(),
                session_.registry().optimizers);
  if (average && checkpoint.ema.empty()) {
    average->restart();
    log_.info("train.ema: {} has no moving average, so it begins with the weights of the checkpoint", path.string());
  } else if (average) {
    average->restore(checkpoint.ema, path.string());
  }
  state = {
      .step = checkpoint.info.step,
      .position = {.epoch = checkpoint.info.epoch, .position = checkpoint.info.samples, .seed = checkpoint.info.seed},
      .extra = checkpoint.info.extra};
  std::erase_if(state.extra, [](const auto& entry) { return is_fact(entry.first); });
  log_.info("training continues after step {}, from {}", state.step, path.string());
}

// What one costs is known to rank 0, so it decides where the interval comes from that.
bool CheckpointManager::due(std::int64_t step) {
  if (every_.steps > 0) return step % every_.steps == 0;
  if (every_.automatic && session_.rank() != 0) return false;
  learn_cost();
  const auto interval = every_.automatic ? interval_ : every_.time;
  return interval.count() > 0 && monotonic_now() - kept_at_ >= interval && !(writer_ && writer_->busy());
}

// Said when it is first known, and when it has changed much.
void CheckpointManager::learn_cost() {
  if (!every_.automatic || writer_->busy() || writer_->cost() == cost_) return;
  cost_ = writer_->cost();
  const auto mtbf = session_.options().checkpoint.mtbf;
  const int nodes = session_.engine().nodes();
  const auto interval = chosen_interval(*cost_, mtbf, nodes);
  if (interval > 2 * said_ || 2 * interval < said_) {
    said_ = interval;
    log_.info("{}", interval_sentence(*cost_, mtbf, nodes));
  }
  interval_ = interval;
}

std::chrono::nanoseconds CheckpointManager::expected_time(const models::Network& network) const {
  if (const auto cost = writer_ ? writer_->cost() : std::nullopt) return cost->total;
  std::uint64_t bytes = 0;
  for (const auto& parameter : network.parameters()) bytes += parameter.nbytes();
  return guessed_time(kMostCopies * bytes);
}

void CheckpointManager::keep(const TrainingState& state, const models::Network& network,
                             const torch::optim::Optimizer& optimizer, const WeightAverage* average) {
  kept_at_ = monotonic_now();
  if (state.step == kept_step_ && state.extra == kept_extra_) return;
  kept_step_ = state.step;
  kept_extra_ = state.extra;
  if (!writer_) return;
  const auto checkpoint = checkpoint_of(state, network, optimizer, average);
  if (!checkpoint) return;
  writer_->save(*checkpoint);
  warn_about_errors(*writer_);
  warn_about_grace();
}

void CheckpointManager::keep_best(const TrainingState& state, const models::Network& network,
                                  const torch::optim::Optimizer& optimizer, const WeightAverage* average) {
  if (!best_writer_) return;
  const auto checkpoint = checkpoint_of(state, network, optimizer, average);
  if (!checkpoint) return;
  best_writer_->save(*checkpoint);
  warn_about_errors(*best_writer_);
}

// Nothing, with a warning, where something of it is not finite.
std::optional<Checkpoint> CheckpointManager::checkpoint_of(const TrainingState& state, const models::Network& network,
                                                           const torch::optim::Optimizer& optimizer,
                                                           const WeightAverage* average) const {
  // In f16 gradients overflow now and then, and the step is skipped.
  if (const auto bad = first_not_finite(network, session_.options().precision != "f16")) {
    log_.warn("no checkpoint of step {} is written: {} is not finite", state.step, *bad);
    return {};
  }
  Checkpoint checkpoint{
      .info = {.step = state.step,
               .epoch = state.position.epoch,
               .samples = state.position.position,
               .seed = state.position.seed,
               .ranks = session_.size(),
               .extra = state.extra},
      .model = models::state_of(network),
      .optimizer = state_tensors(optimizer, network.named_parameters(), session_.registry().optimizers)};
  if (average) checkpoint.ema = average->tensors();
  checkpoint.info.settings = facts().settings;
  checkpoint.info.extra[kGivenSettings] = given_settings(session_.settings());
  for (const auto& [what, text] : found_) checkpoint.info.extra[std::string(kFound) + what] = text;
  return checkpoint;
}

void CheckpointManager::finish() {
  for (const auto& writer : {writer_.get(), best_writer_.get()}) {
    if (!writer) continue;
    writer->wait();
    warn_about_errors(*writer);
  }
}

void CheckpointManager::warn_about_errors(CheckpointWriter& writer) {
  if (const auto error = writer.take_error())
    log_.warn("cannot write a checkpoint; training continues, and older checkpoints are unchanged: {}", error->what());
}

// After SIGTERM, what 'ronde run' allows must be enough for a checkpoint.
void CheckpointManager::warn_about_grace() {
  const auto grace = session_.options().grace;
  const auto cost = writer_->cost();
  if (session_.rank() != 0 || grace_warned_ || !cost || cost->total < grace) return;
  grace_warned_ = true;
  log_.warn(
      "writing a checkpoint takes {}, but after SIGTERM ranks are killed within launch.grace, {}: raise it, or use a "
      "deadline or SIGUSR1",
      format_duration(cost->total), format_duration(grace));
}

fs::path CheckpointManager::best() const {
  return newest_checkpoint(best_folder_).value_or(fs::path());
}

fs::path CheckpointManager::newest() const {
  return writer_ ? writer_->newest().value_or(started_from_) : started_from_;
}

}  // namespace ronde::train
