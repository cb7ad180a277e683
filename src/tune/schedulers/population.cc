#include "ronde/tune/schedulers/population.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "ronde/base/error.h"

// Population-based training (Jaderberg et al., arXiv 1711.09846) with Ray Tune's rules: at its interval a trial of the
// worst quarter takes over the weights and, explored, the configuration of one of the best quarter.
namespace ronde::tune {
namespace {

struct Member {
  Json config;
  double time = 0;
  double next_base = 0;         // when it was last perturbed
  std::optional<double> score;  // at its last interval
  bool has_checkpoint = false;
  bool is_done = false;
  bool waits = false;  // for the others (synchronous), or for a slot
};

class Population : public Scheduler {
 public:
  Population(const SchedulerOptions& options, std::unique_ptr<Explorer> explorer)
      : seed_(options.seed),
        slots_(options.slots),
        interval_(number_option(options.options, "perturbation_interval", 60, 0)),
        burn_in_(number_option(options.options, "burn_in_period", 0, 0)),
        quantile_(number_option(options.options, "quantile_fraction", 0.25, 0)),
        synch_(options.options.value("synch", false)),
        explorer_(std::move(explorer)),
        next_synch_(std::max(interval_, burn_in_)) {
    if (quantile_ > 0.5) throw Error::bad_input("quantile_fraction must be at most 0.5, got {}", quantile_);
    if (!(interval_ > 0)) throw Error::bad_input("perturbation_interval must be above 0");
  }

  void on_add(int trial, Json& config) override {
    Random random(seed_, 1, static_cast<std::uint64_t>(trial));
    explorer_->complete(config, random);
    members_[trial].config = config;
  }

  Decision on_report(const Report& report) override {
    Member& member = members_[report.trial];
    member.time = report.time;
    others_to_come_ = report.others_to_come;
    if (report.time < burn_in_) return {};
    if (synch_) return report_in_step(member, report);
    if (report.time - member.next_base < interval_) return {};
    member.score = report.score;
    explorer_->heard(report);
    member.next_base = report.time;
    Decision decision = perturb(report.trial);
    if (decision.kind == Decision::Kind::Continue &&
        (live() > slots_ || others_to_come_)) {  // others have trained less: they go first
      decision.kind = Decision::Kind::Pause;
      decision.save = member.has_checkpoint = true;
    }
    return decision;
  }

  void on_complete(const Report& last) override { leave(last.trial); }
  void on_lost(int trial) override { leave(trial); }
  std::vector<std::pair<int, Decision>> others() override { return std::exchange(others_, {}); }

  // The one that has trained least.
  std::optional<int> resume(std::span<const int> paused, bool all_added, int /*running*/) override {
    if (!all_added) return {};  // those that have not run at all
    std::optional<int> least;
    for (const int trial : paused)
      if ((!synch_ || !members_[trial].waits) && (!least || members_[trial].time < members_[*least].time))
        least = trial;
    return least;
  }

 private:
  int live() const {
    return static_cast<int>(std::ranges::count_if(members_, [](const auto& each) { return !each.second.is_done; }));
  }

  void leave(int trial) {
    members_[trial].is_done = true;
    members_[trial].score.reset();
    if (synch_ && all_wait()) step_all(-1);
  }

  struct Quantiles {
    std::vector<int> worst, best;
  };

  Quantiles quantiles() const {
    std::vector<std::pair<double, int>> ranked;
    for (const auto& [trial, member] : members_)
      if (!member.is_done && member.score && !std::isnan(*member.score)) ranked.emplace_back(*member.score, trial);
    std::ranges::stable_sort(ranked, {}, &std::pair<double, int>::first);
    Quantiles result;
    const auto count = ranked.size();
    if (count <= 1) return result;
    const auto part = std::min(static_cast<std::size_t>(std::ceil(static_cast<double>(count) * quantile_)), count / 2);
    for (std::size_t i = 0; i < part; ++i) result.worst.push_back(ranked[i].second);
    // As in Ray Tune: with a fraction of 0 all are best, which saves them and exploits none.
    for (std::size_t i = part == 0 ? 0 : count - part; i < count; ++i) result.best.push_back(ranked[i].second);
    return result;
  }

  // What one trial does at its interval.
  Decision perturb(int trial) {
    const Quantiles parts = quantiles();
    const auto is_in = [&](const std::vector<int>& part) { return std::ranges::find(part, trial) != part.end(); };
    if (is_in(parts.best)) {
      members_[trial].has_checkpoint = true;
      return {.save = true};
    }
    if (!is_in(parts.worst) || parts.best.empty()) return {};
    Random random(seed_, 2, exploits_++);
    const int source = parts.best[random.below(parts.best.size())];
    const Member& from = members_[source];
    if (!from.has_checkpoint) return {};
    Member& member = members_[trial];
    member.config = explorer_->explore(trial, source, from.config, random);
    member.next_base = from.next_base;
    member.time = from.time;
    member.has_checkpoint = false;
    return {.kind = Decision::Kind::Exploit, .source = source, .config = member.config};
  }

  // --- Synchronous: all stop at a common time
  // --------------------------------------------------------------------------

  bool all_wait() const {
    return !others_to_come_ &&
           std::ranges::all_of(members_, [](const auto& each) { return each.second.is_done || each.second.waits; });
  }

  Decision report_in_step(Member& member, const Report& report) {
    if (report.time < next_synch_) return {};
    member.score = report.score;
    explorer_->heard(report);
    member.next_base = report.time;
    member.waits = true;
    if (!all_wait()) return {.kind = Decision::Kind::Pause, .save = true};
    return step_all(report.trial);
  }

  Decision step_all(int reporting) {
    const Quantiles parts = quantiles();
    double latest = next_synch_ + interval_;
    for (auto& [trial, member] : members_) {
      member.waits = false;
      if (!member.is_done) latest = std::max(latest, member.time);
    }
    next_synch_ = latest;
    for (const int trial : parts.best) members_[trial].has_checkpoint = true;
    Decision answer;
    if (std::ranges::find(parts.best, reporting) != parts.best.end()) answer.save = true;
    for (const int trial : parts.worst) {
      Decision decision = perturb(trial);
      if (trial == reporting)
        answer = decision;
      else
        others_.emplace_back(trial, decision);
    }
    return answer;
  }

  std::uint64_t seed_, exploits_ = 0;
  int slots_;
  double interval_, burn_in_, quantile_;
  bool synch_;
  const std::unique_ptr<Explorer> explorer_;
  double next_synch_;
  bool others_to_come_ = false;  // the population is not complete yet
  std::map<int, Member> members_;
  std::vector<std::pair<int, Decision>> others_;
};

}  // namespace

std::unique_ptr<Scheduler> make_population(const SchedulerOptions& options, std::unique_ptr<Explorer> explorer) {
  return std::make_unique<Population>(options, std::move(explorer));
}

}  // namespace ronde::tune
