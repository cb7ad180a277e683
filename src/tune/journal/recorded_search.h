#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ronde/tune/journal/journal.h"
#include "ronde/tune/search.h"

namespace ronde::tune {

// A search whose every step is in a journal first, so that it goes on where it was after the job has ended in whatever
// way, and so that several jobs may work on one search. The functions are those of Search.
// One thread at a time.
class RecordedSearch {
 public:
  // Begins the search, or goes on with that of the file. Its options are then those of the file; `options` must agree
  // with them but for samples and max_failures, which may have changed, and slots and points, which are those of the
  // file. FAILS WITH: BadInput for a search that differs, naming the options; as Journal and Search.
  RecordedSearch(const std::filesystem::path& file, SearchOptions options, Space::Compute compute = {});

  Search::Next next();
  Decision report(int trial, Json& result, double seconds);
  void saved(int trial, const std::string& checkpoint);
  void paused(int trial);
  void ended(int trial);
  bool failed(int trial, const std::string& error);
  // What was decided about trials that do not run here.
  std::vector<Search::Change> changes() { return search_->changes(); }
  // Takes in what other jobs have written, and takes over the trials of jobs that have ended.
  void refresh();

  const Search& search() const { return *search_; }
  bool is_mine(int trial) const;                           // it runs, and this job runs it
  std::size_t resumed_trials() const { return resumed_; }  // that the file had when it was opened
  std::uint64_t dropped_bytes() const { return journal_.dropped(); }

 private:
  void apply(const Json& line);
  void take_over(bool at_start);
  void set_limits(const SearchOptions& wanted);
  template <class Step>
  void step(Step take);

  Journal journal_;
  Space::Compute compute_;
  std::optional<Search> search_;
  std::vector<int> jobs_;  // of trials by number: the member that runs it, or -1
  int member_ = 0;
  std::size_t resumed_ = 0;
};

// The search of a journal that others may be writing, as it stands now. Changes nothing.
// FAILS WITH: as read_journal(), and BadInput for another version's.
Search read_search(const std::filesystem::path& file);

// The options whose values differ, other than those that may; empty: the same search. Pure.
std::vector<std::string> differences(const SearchOptions& recorded, const SearchOptions& wanted);

}  // namespace ronde::tune
