#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ronde/comm/agree/agreement.h"

// For tests: members of a group that follow little programs; test_rounds.h lets them agree. A program is text:
//
//   a        submit 'a'          a'   with another shape     m    one that members who have joined cannot take part in
//   u        submit without a name; all of them have one shape, and u' another
//   -a       wait for 'a'        ~a   poll it                -u   the latest without a name
//   J        join                -J   wait for its end       !    report a stall
//   @        wait for something in another group, which comes when member 0 has ended
//   T        tune all members to buckets of one             T'   of all
//   |        nothing: where an exploration begins
namespace ronde::comm::detail {

struct TestUnit : Unit {
  std::string word = {};
  bool done = false;  // a bucket that runs is done at once
};

// What a unit is called in programs, told by its shape, so that members who have joined can tell too.
inline std::string word_of(const Description& description) {
  const std::int64_t rows = description.shape.rows();
  return std::string(1, static_cast<char>('a' + rows % 100 - 10)) + (rows >= 100 ? "'" : "");
}

inline Description description_of(const std::string& word) {
  if (word == "J") return {.operation = Operation::Join};
  Description description{.dtype = DType::U8};
  description.shape = {(word.back() == '\'' ? 110 : 10) + (word.front() - 'a')};
  if (word == "m") description.op = ReduceOp::Max;
  return description;
}

enum class Phase { Idle, Opened, Answered, Judged };

// One member: its program, its units, and where it stands.
class TestMember {
 public:
  TestMember(const AgreementOptions& options, const std::string& program) : agreement(options, names_) {
    std::istringstream words(program);
    for (std::string word; words >> word;) program_.push_back(word);
  }

  bool blocked() const { return waits_for_ && !waits_for_->done; }
  bool ended() const { return at_ == program_.size() && !blocked(); }
  bool at_bar() const { return at_ < program_.size() && program_[at_] == "|"; }
  bool can_step() const { return at_ < program_.size() && !blocked() && !at_bar(); }
  void pass_bar() { ++at_; }
  const std::string& next_word() const { return program_[at_]; }
  std::size_t at() const { return at_; }
  bool fence() const { return waited_; }

  void step() {
    const std::string word = program_[at_++];
    waits_for_ = nullptr;
    elsewhere = word == "@";
    if (elsewhere) {
      waited_ = true;
    } else if (word == "!") {
      stalled = true;
      agreement.report_stall();
    } else if (word.front() == 'T') {
      const std::size_t bytes = word == "T" ? 10 : 100;
      wish = word;
      agreement.retune({.limits = {.bytes = bytes, .first_bytes = bytes}});
    } else if (word.front() == '-' || word.front() == '~') {
      TestUnit* unit = latest(word.substr(1));
      if (!unit) throw std::logic_error("waits for what was never submitted: " + word);
      agreement.wait_for(*unit);
      if (word.front() == '-' || unit->done) waited_ = true;
      if (word.front() == '-') waits_for_ = unit;
    } else {
      submit(word);
    }
  }

  // What came of a unit: it has run, or has been told that members differ.
  void finish(Unit& unit) {
    auto& mine = static_cast<TestUnit&>(unit);
    if (mine.done) throw std::logic_error(mine.word + " was handed out twice");
    mine.done = true;
    if (mine.key) NameTable::close(*mine.key);
  }

  void count_unnamed_from(std::uint64_t sequence) { next_unnamed_ = sequence; }

  TestUnit* latest(const std::string& word) {
    const auto same = [&](const TestUnit& unit) { return unit.word.front() == word.front(); };
    const auto found = std::find_if(units_.rbegin(), units_.rend(), same);
    return found == units_.rend() ? nullptr : &*found;
  }

  // What was submitted and has not run, but for a join.
  std::set<const Unit*> outstanding() const {
    std::set<const Unit*> left;
    for (const TestUnit& unit : units_)
      if (!unit.done && unit.word != "J") left.insert(&unit);
    return left;
  }
  bool joins() const {
    return std::ranges::any_of(units_, [](const TestUnit& unit) { return unit.word == "J" && !unit.done; });
  }

 private:
  void submit(const std::string& word) {
    if (joins()) throw std::logic_error("submits after it has joined: " + word);
    TestUnit& unit = units_.emplace_back();
    unit.word = word;
    unit.description = description_of(word);
    complete(unit);
    if (word.front() == 'u') {
      unit.sequence = next_unnamed_++;
    } else if (word != "J") {
      unit.key = names_.open(word.substr(0, 1));
      if (!unit.key) throw std::logic_error("submits what is on its way: " + word);
    }
    if (word == "J") joined_in = round;
    unit.fence = std::exchange(waited_, false);
    agreement.submit(unit);
  }

  NameTable names_;
  std::vector<std::string> program_;
  std::size_t at_ = 0;
  std::deque<TestUnit> units_;
  const TestUnit* waits_for_ = nullptr;
  std::uint64_t next_unnamed_ = 0;
  bool waited_ = false;

 public:
  Agreement agreement;  // after names_, which it uses
  bool stalled = false;
  std::string wish;        // to tune, not yet told
  bool elsewhere = false;  // its program waits in another group
  Phase phase = Phase::Idle;
  std::size_t round = 0;
  std::vector<std::size_t> differs;  // in its present round,
  std::string told;                  // and what came of that
  std::size_t joined_in = 0;         // before which round it last joined
  std::string waits;                 // under the present plan, for what has no name
};

}  // namespace ronde::comm::detail
