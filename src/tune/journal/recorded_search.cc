#include "ronde/tune/journal/recorded_search.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::tune {
namespace {

constexpr int kVersion = 1;
// May differ between the jobs of one search.
constexpr auto kFree = std::to_array<std::string_view>({"samples", "slots", "max_failures", "points"});

int trial_of(const Json& line) {
  return line.at("trial").get<int>();
}

// The options in a journal's first line.
SearchOptions recorded_options(const Json& first, const std::filesystem::path& file) {
  if (first.value("op", "") != "search" || first.value("version", 0) != kVersion)
    throw Error::bad_input("journal '{}' is not one of this version of Ronde", file.string());
  return search_options(first["options"]);
}

// Does again what a line tells; `jobs`, by trial: the member that runs it, or -1.
void replay(Search& search, std::vector<int>& jobs, const Json& line, const std::filesystem::path& file) {
  const std::string op = line.value("op", "");
  if (op == "next") {
    const Search::Next next = search.next(&line);
    if (next.trial != line.value("trial", -1))
      throw Error::bad_input("journal '{}': trial {} where {} is expected; it was written by another version",
                             file.string(), line.value("trial", -1), next.trial);
    if (next.trial < 0) return;
    jobs.resize(search.trials().size(), -1);
    jobs[static_cast<std::size_t>(next.trial)] = line.at("job").get<int>();
  } else if (op == "report") {
    Json result = line.at("result");
    search.report(trial_of(line), result, line.at("seconds").get<double>());
  } else if (op == "saved") {
    search.saved(trial_of(line), line.at("checkpoint").get<std::string>());
  } else if (op == "paused") {
    search.paused(trial_of(line));
  } else if (op == "ended") {
    search.ended(trial_of(line));
  } else if (op == "failed") {
    search.failed(trial_of(line), line.at("error").get<std::string>());
  } else if (op == "interrupted") {
    search.interrupted(trial_of(line));
  } else if (op == "limits") {
    search.set_limits(line.at("samples").get<int>(), line.at("max_failures").get<int>());
  }
}

}  // namespace

std::vector<std::string> differences(const SearchOptions& recorded, const SearchOptions& wanted) {
  std::vector<std::string> names;
  const Json a = to_json(recorded), b = to_json(wanted);
  for (const auto& [name, value] : a.items())
    if (std::ranges::find(kFree, name) == kFree.end() && value != b[name]) names.push_back(name);
  return names;
}

template <class Step>
void RecordedSearch::step(Step take) {
  journal_.exclusively([&](const std::vector<Json>& news) {
    for (const Json& line : news) apply(line);
    take();
  });
}

RecordedSearch::RecordedSearch(const std::filesystem::path& file, SearchOptions options, Space::Compute compute)
    : journal_(file), compute_(std::move(compute)) {
  journal_.exclusively([&](const std::vector<Json>& news) {
    member_ = journal_.join();
    if (news.empty()) {
      search_.emplace(options, compute_);
      journal_.append({{"op", "search"}, {"version", kVersion}, {"options", to_json(options)}});
      return;
    }
    SearchOptions recorded = recorded_options(news.front(), file);
    if (const auto differ = differences(recorded, options); !differ.empty())
      throw Error::bad_input(
          "'{}' holds another search: {} differ; use another folder, or go on with what it was started with",
          file.string(), join(differ, ", "));
    search_.emplace(std::move(recorded), compute_);
    for (std::size_t i = 1; i < news.size(); ++i) apply(news[i]);
    resumed_ = search_->trials().size();
    set_limits(options);
    take_over(true);
  });
}

void RecordedSearch::apply(const Json& line) {
  replay(*search_, jobs_, line, journal_.file());
  if (search_->trials().size() != jobs_.size()) jobs_.resize(search_->trials().size(), -1);
}

void RecordedSearch::set_limits(const SearchOptions& wanted) {
  const SearchOptions& now = search_->options();
  if (now.samples == wanted.samples && now.max_failures == wanted.max_failures) return;
  const Json line = {{"op", "limits"}, {"samples", wanted.samples}, {"max_failures", wanted.max_failures}};
  journal_.append(line);
  apply(line);
}

// What runs in a job that has ended is interrupted. At the start, the number of this job may be that of one before it.
void RecordedSearch::take_over(bool at_start) {
  std::vector<int> interrupted;
  for (const Trial& trial : search_->trials()) {
    if (trial.state != TrialState::Running) continue;
    const int job = jobs_[static_cast<std::size_t>(trial.number)];
    if (job == member_ ? at_start : !journal_.is_alive(job)) interrupted.push_back(trial.number);
  }
  for (const int trial : interrupted) {
    const Json line = {{"op", "interrupted"}, {"trial", trial}};
    journal_.append(line);
    apply(line);
  }
}

void RecordedSearch::refresh() {
  step([&] { take_over(false); });
}

Search::Next RecordedSearch::next() {
  Search::Next next;
  step([&] {
    next = search_->next();
    Json line = {{"op", "next"}, {"trial", next.trial}, {"job", member_}};
    if (next.kind == Search::Next::Kind::Start) {
      const Trial& trial = search_->trials()[static_cast<std::size_t>(next.trial)];
      line["config"] = trial.config;
      line["drawn"] = trial.drawn;
    }
    // Waiting is recorded, too: a scheduler may have decided about those that are paused when it was asked.
    journal_.append(line);
    jobs_.resize(search_->trials().size(), -1);
    if (next.trial >= 0) jobs_[static_cast<std::size_t>(next.trial)] = member_;
  });
  return next;
}

Decision RecordedSearch::report(int trial, Json& result, double seconds) {
  Decision decision;
  step([&] {
    journal_.append({{"op", "report"}, {"trial", trial}, {"seconds", seconds}, {"result", result}});
    decision = search_->report(trial, result, seconds);
  });
  return decision;
}

void RecordedSearch::saved(int trial, const std::string& checkpoint) {
  step([&] {
    journal_.append({{"op", "saved"}, {"trial", trial}, {"checkpoint", checkpoint}});
    search_->saved(trial, checkpoint);
  });
}

void RecordedSearch::paused(int trial) {
  step([&] {
    journal_.append({{"op", "paused"}, {"trial", trial}});
    search_->paused(trial);
  });
}

void RecordedSearch::ended(int trial) {
  step([&] {
    journal_.append({{"op", "ended"}, {"trial", trial}});
    search_->ended(trial);
  });
}

bool RecordedSearch::failed(int trial, const std::string& error) {
  bool again = false;
  step([&] {
    journal_.append({{"op", "failed"}, {"trial", trial}, {"error", error}});
    again = search_->failed(trial, error);
  });
  return again;
}

Search read_search(const std::filesystem::path& file) {
  const std::vector<Json> lines = read_journal(file);
  if (lines.empty()) throw Error::bad_input("journal '{}' is empty", file.string());
  Search search(recorded_options(lines.front(), file));
  std::vector<int> jobs;
  for (std::size_t i = 1; i < lines.size(); ++i) replay(search, jobs, lines[i], file);
  return search;
}

bool RecordedSearch::is_mine(int trial) const {
  const auto number = static_cast<std::size_t>(trial);
  return search_->trials()[number].state == TrialState::Running && jobs_[number] == member_;
}

}  // namespace ronde::tune
