#include "ronde/report/steps/phases.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/report/run/numbers.h"

namespace ronde::report {
namespace {

using trace::Lane;
using trace::LaneSpan;
using trace::RankTrace;
using trace::Run;

constexpr std::int64_t kLeastPiece = 1'000'000;  // ns
constexpr std::size_t kNamedParts = 3;           // in the sentence
constexpr double kFarLimit = 10;                 // times as fast as the run: no limit that anybody meets

enum class State : std::uint8_t { NotStarted, Work, WaitForInput, WaitForOthers, Through };

// What a rank does, from one change to the next.
struct Doing {
  State state = State::NotStarted;
  PhaseKind phase = PhaseKind::StartUp;
  std::uint32_t label = 0;  // name of the span that stands for what it does; 0: none
  bool in_step = false;
};

struct Change {
  enum class What : std::uint8_t { State, Label, Step };
  std::int64_t time = 0;
  std::uint32_t place = 0;  // of the rank
  What what = What::State;
  std::uint32_t value = 0;  // State, name, 0 or 1
};

// How spans are called that a phase, or nothing at all, follows from.
struct Meanings {
  explicit Meanings(const Run& run) {
    using namespace trace::span_names;
    const auto id = [&](std::string_view text) { return run.names.find(text).value_or(kUnknown); };
    waits = {id(kWaitForInput), id(kWaitForCommunication), id(kWaitForDevice)};
    testing = id(kEvaluate);
    loading = id(kLoad);
    saving = {id(kSave), id(kWaitForSaving)};
    ordinary = {id(kForward), id(kBackward), id(kOptimizer), id(kSynchronize), 0, kUnknown};
  }

  static constexpr std::uint32_t kUnknown = std::numeric_limits<std::uint32_t>::max();
  bool is_wait(std::uint32_t name) const { return std::ranges::find(waits, name) != waits.end(); }
  bool is_ordinary(std::uint32_t name) const { return std::ranges::find(ordinary, name) != ordinary.end(); }
  std::optional<PhaseKind> phase(std::uint32_t name) const {
    if (name == testing) return PhaseKind::Testing;
    if (name == loading) return PhaseKind::Loading;
    if (name == saving[0] || name == saving[1]) return PhaseKind::Saving;
    return {};
  }

  std::array<std::uint32_t, 3> waits = {};
  std::array<std::uint32_t, 2> saving = {};
  std::array<std::uint32_t, 6> ordinary = {};
  std::uint32_t testing = 0, loading = 0;
};

class Sweep {
 public:
  Sweep(const Run& run, const Window& window);
  Phases take();

 private:
  void add_rank(std::uint32_t place, TimeRange time);
  void add_labels(std::uint32_t place, const Lane& lane, TimeRange time);
  void apply(const Change& change);
  void set(std::uint32_t place, const Doing& next);
  void count(const Doing& doing, int by);
  void pass(TimeRange time);
  std::optional<std::uint32_t> alone() const;
  bool is_sequential(const Doing& doing) const;
  void close_piece();

  const Run& run_;
  const Meanings meanings_;
  std::vector<TimeRange> steps_;  // of the whole run: before, a rank starts up
  std::vector<Change> changes_;
  std::vector<Doing> doing_;
  std::vector<int> owners_;  // by name: ranks that have such a label

  // Counted along: ranks by state and phase.
  std::array<int, kPhaseKinds> present_ = {}, at_work_ = {};
  int ranks_ = 0, not_started_ = 0, active_ = 0;

  struct Piece {
    std::uint32_t place = 0, label = 0;
    PhaseKind phase = PhaseKind::Training;
    TimeRange time = {};
  };
  std::optional<Piece> piece_;
  std::array<std::int64_t, kPhaseKinds> time_ = {}, busy_ = {}, sequential_ = {};
  struct Part {
    std::int64_t time = 0;
    PhaseKind phase = PhaseKind::Training;
    TimeRange longest = {};
  };
  std::map<std::pair<std::uint32_t, std::string>, Part> parts_;  // by rank's place and name
};

Sweep::Sweep(const Run& run, const Window& window)
    : run_(run), meanings_(run), doing_(run.ranks.size()), owners_(run.names.size(), 0) {
  std::int64_t first_step = std::numeric_limits<std::int64_t>::max();
  for (const RankTrace& rank : run.ranks)
    if (!rank.steps.empty()) first_step = std::min(first_step, rank.steps.front().number);
  const bool whole = window.steps == 0 || window.first_step == first_step;
  for (std::size_t i = 0; i < run.ranks.size(); ++i) {
    if (window.ranks[i].length() <= 0) continue;  // it recorded nothing that counts: as if it were not there
    const std::int64_t begin = whole ? std::min(run.ranks[i].time.begin, window.ranks[i].begin) : window.time.begin;
    add_rank(static_cast<std::uint32_t>(i), {begin, window.ranks[i].end});
  }
  std::ranges::stable_sort(changes_, {}, &Change::time);
}

void Sweep::add_rank(std::uint32_t place, TimeRange time) {
  const RankTrace& rank = run_.ranks[place];
  const auto to = [&](std::int64_t at, Change::What what, std::uint32_t value) {
    changes_.push_back({std::clamp(at, time.begin, time.end), place, what, value});
  };
  const auto state = [&](std::int64_t at, State next) {
    to(at, Change::What::State, static_cast<std::uint32_t>(next));
  };
  steps_.resize(run_.ranks.size());
  steps_[place] = rank.steps.empty() ? TimeRange{} : TimeRange{rank.steps.front().time.begin, time.end};
  ++ranks_;
  ++not_started_;
  state(time.begin, State::Work);
  const Waits waits = waits_of(run_, rank, time);
  std::vector<std::pair<TimeRange, State>> all;  // by time, since one may begin where another ends
  for (const TimeRange& wait : waits.input) all.emplace_back(wait, State::WaitForInput);
  for (const TimeRange& wait : waits.communication) all.emplace_back(wait, State::WaitForOthers);
  std::ranges::sort(all, {}, [](const auto& wait) { return wait.first.begin; });
  for (const auto& [wait, which] : all) {
    state(wait.begin, which);
    state(wait.end, State::Work);
  }
  for (const trace::TracedStep& step : rank.steps) {
    if (step.time.end <= time.begin || step.time.begin >= time.end) continue;
    to(step.time.begin, Change::What::Step, 1);
    to(step.time.end, Change::What::Step, 0);
  }
  if (const Lane* lane = rank.training()) add_labels(place, *lane, time);
  state(time.end, State::Through);
}

// A rank does what its outermost span says, or one inside of it that a phase follows from.
void Sweep::add_labels(std::uint32_t place, const Lane& lane, TimeRange time) {
  struct Open {
    std::int64_t end = 0;
    std::uint32_t label = 0;
  };
  std::vector<Open> open;
  std::uint32_t current = 0;
  std::vector<bool> seen(owners_.size(), false);
  const auto become = [&](std::int64_t at, std::uint32_t label) {
    if (label == current || at > time.end) return;
    current = label;
    changes_.push_back({std::max(at, time.begin), place, Change::What::Label, label});
    if (!seen[label]) ++owners_[label];
    seen[label] = true;
  };
  const auto close_until = [&](std::int64_t at) {
    while (!open.empty() && open.back().end <= at) {
      const std::int64_t end = open.back().end;
      open.pop_back();
      become(end, open.empty() ? 0 : open.back().label);
    }
  };
  for (const LaneSpan& span : lane.spans) {
    close_until(span.time.begin);
    if (meanings_.is_wait(span.name)) continue;
    const bool outermost = open.empty();
    const std::uint32_t label = outermost || meanings_.phase(span.name) ? span.name : open.back().label;
    if (!outermost && label == open.back().label) continue;  // adds nothing
    open.push_back({span.time.end, label});
    become(span.time.begin, label);
  }
  close_until(std::numeric_limits<std::int64_t>::max());
}

void Sweep::count(const Doing& doing, int by) {
  if (doing.state == State::NotStarted) {
    not_started_ += by;
    return;
  }
  if (doing.state == State::Through) return;
  const auto phase = static_cast<std::size_t>(doing.phase);
  present_[phase] += by;
  if (doing.state == State::Work) at_work_[phase] += by;
  if (doing.state != State::WaitForOthers) active_ += by;
}

void Sweep::set(std::uint32_t place, const Doing& next) {
  count(doing_[place], -1);
  doing_[place] = next;
  count(next, 1);
}

void Sweep::apply(const Change& change) {
  Doing next = doing_[change.place];
  switch (change.what) {
    case Change::What::State: next.state = static_cast<State>(change.value); break;
    case Change::What::Label: next.label = change.value; break;
    case Change::What::Step: next.in_step = change.value != 0; break;
  }
  const TimeRange& steps = steps_[change.place];
  const bool before = steps.length() > 0 && change.time < steps.begin;
  next.phase = meanings_.phase(next.label).value_or(before ? PhaseKind::StartUp : PhaseKind::Training);
  set(change.place, next);
}

// The one that has something to do, while all others of several wait for it or are through.
std::optional<std::uint32_t> Sweep::alone() const {
  if (active_ != 1 || not_started_ != 0 || ranks_ < 2) return {};
  for (std::uint32_t place = 0; place < doing_.size(); ++place)
    if (doing_[place].state == State::Work || doing_[place].state == State::WaitForInput) return place;
  return {};
}

bool Sweep::is_sequential(const Doing& doing) const {
  if (doing.phase != PhaseKind::Training || !doing.in_step) return true;
  return !meanings_.is_ordinary(doing.label) && owners_[doing.label] == 1;
}

void Sweep::close_piece() {
  if (piece_ && piece_->time.length() >= kLeastPiece) {
    std::string label = run_.names.text(piece_->label);
    if (label.empty()) label = piece_->phase == PhaseKind::StartUp ? "start-up" : "between steps";
    Part& part = parts_[{piece_->place, std::move(label)}];
    part.time += piece_->time.length();
    part.phase = piece_->phase;
    if (piece_->time.length() > part.longest.length()) part.longest = piece_->time;
    sequential_[static_cast<std::size_t>(piece_->phase)] += piece_->time.length();
  }
  piece_.reset();
}

// Nothing changes in this time.
void Sweep::pass(TimeRange time) {
  if (time.length() <= 0) return;
  int working = 0;
  for (const int ranks : at_work_) working += ranks;
  const auto& votes = working > 0 ? at_work_ : present_;
  const auto most = static_cast<std::size_t>(std::ranges::max_element(votes) - votes.begin());
  if (votes[most] > 0) {
    time_[most] += time.length();
    busy_[most] += working * time.length();
  }
  const auto one = alone();
  if (!one || !is_sequential(doing_[*one])) return close_piece();
  const Doing& doing = doing_[*one];
  const bool goes_on = piece_ && piece_->place == *one && piece_->label == doing.label && piece_->phase == doing.phase;
  if (!goes_on) {
    close_piece();
    piece_ = Piece{*one, doing.label, doing.phase, time};
  }
  piece_->time.end = time.end;
}

std::string sequential_text(const Phases& phases, int ranks) {
  if (ranks < 2) return "";
  if (phases.sequential.parts.empty()) return "No part of the run was done by one rank alone.";
  std::vector<std::string> named;
  for (const SequentialPart& part : phases.sequential.parts)
    if (named.size() < kNamedParts)
      named.push_back(fmt::format("{} on rank {} ({:.3g} s)", part.name, part.rank, part.seconds));
  std::string text = fmt::format("{:.1f} % of the run was done by one rank while the others waited: {}.",
                                 100 * phases.sequential.share, join(named, ", "));
  if (phases.sequential.limit < kFarLimit)
    text += fmt::format(" With any number of ranks, the run cannot become more than {:.1f} times faster.",
                        phases.sequential.limit);
  return text;
}

Phases Sweep::take() {
  std::int64_t now = changes_.empty() ? 0 : changes_.front().time;
  for (const Change& change : changes_) {
    if (change.time > now) pass({now, change.time});
    now = change.time;
    apply(change);
  }
  close_piece();
  Phases result;
  std::int64_t all = 0, sequential = 0;
  for (std::size_t i = 0; i < kPhaseKinds; ++i) all += time_[i], sequential += sequential_[i];
  result.seconds = seconds(all);
  for (std::size_t i = 0; i < kPhaseKinds; ++i)
    if (time_[i] > 0)
      result.phases.push_back({.kind = static_cast<PhaseKind>(i),
                               .seconds = seconds(time_[i]),
                               .share = static_cast<double>(time_[i]) / static_cast<double>(all),
                               .ranks_busy = static_cast<double>(busy_[i]) / static_cast<double>(time_[i]),
                               .sequential_seconds = seconds(sequential_[i])});
  for (const auto& [key, part] : parts_)
    result.sequential.parts.push_back({.name = key.second,
                                       .seconds = seconds(part.time),
                                       .rank = run_.ranks[key.first].rank,
                                       .phase = part.phase,
                                       .longest = part.longest});
  std::ranges::stable_sort(result.sequential.parts, std::ranges::greater{}, &SequentialPart::seconds);
  result.sequential.share = all > 0 ? static_cast<double>(sequential) / static_cast<double>(all) : 0;
  result.sequential.limit = sequential > 0 ? static_cast<double>(all) / static_cast<double>(sequential)
                                           : std::numeric_limits<double>::infinity();
  result.sequential.text = sequential_text(result, ranks_);
  return result;
}

}  // namespace

std::string_view name(PhaseKind kind) {
  constexpr std::array<std::string_view, kPhaseKinds> kNames{"start-up", "loading", "training", "testing", "saving"};
  return kNames[static_cast<std::size_t>(kind)];
}

const Phase* Phases::find(PhaseKind kind) const {
  const auto found = std::ranges::find(phases, kind, &Phase::kind);
  return found == phases.end() ? nullptr : &*found;
}

Phases phases_of(const Run& run, const Window& window) {
  return Sweep(run, window).take();
}

}  // namespace ronde::report
