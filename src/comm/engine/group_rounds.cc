// How a group agrees: the shell around agreement.h that exchanges what it says.
#include <algorithm>

#include "ronde/base/system/clock.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/comm/engine/group_core.h"
#include "ronde/trace/span_names.h"

namespace ronde::comm::detail {
namespace {

constexpr std::size_t kMostStalls = 20;                  // that one report tells of
constexpr std::chrono::milliseconds kMessagePause{150};  // for each message that a question costs

std::string signatures_of(const Unit* unit) {
  std::string bytes;
  for (const Unit* part = unit; part; part = part->next) {
    const std::uint64_t word = signature(part->description);
    bytes.append(reinterpret_cast<const char*>(&word), sizeof(word));
  }
  return bytes;
}

// Where lists of words begin to differ; empty ones do not count.
std::size_t first_difference(const std::vector<std::string>& lists) {
  std::size_t same = std::string::npos;
  const std::string* first = nullptr;
  for (const std::string& list : lists) {
    if (list.empty()) continue;
    if (!first) first = &list;
    const auto until = std::ranges::mismatch(*first, list).in1 - first->begin();
    if (static_cast<std::size_t>(until) < std::max(first->size(), list.size()))
      same = std::min(same, static_cast<std::size_t>(until));
  }
  return same == std::string::npos ? 0 : same / sizeof(std::uint64_t);
}

// The request at fault among those that were submitted together.
std::string title_within(Unit& unit, std::size_t index) {
  std::size_t others = 0;
  const Ticket* at_fault = &Ticket::of(unit);
  for (Unit* part = unit.next; part; part = part->next)
    if (++others == index) at_fault = &Ticket::of(*part);
  return fmt::format("{} (submitted together with {} more)", title(*at_fault), others);
}

// What I asked for, as far as it explains a difference at `index`.
std::string explanation(const Unit* unit, std::size_t index) {
  std::string bytes;
  if (!unit) return bytes;
  const std::vector<Description> content = content_of(*unit);
  Description mine = index < content.size() ? content[index] : content.front();
  if (index >= content.size()) mine.text = fmt::format("as one of {} requests submitted together", content.size());
  write_description(bytes, mine);
  return bytes;
}

}  // namespace

// With a plan: another member has said no; or it waits for my vote while my program, which has not submitted all of the
// bucket, waits for something in another group. That may be a circle, and what both have must run now.
bool GroupCore::must_refuse() const {
  return link_->refused() || (waits_elsewhere() && link_->begun());
}

bool GroupCore::waits_elsewhere() const {
  return agreement_.planned() && context_.wanted > wanted_ && agreement_.holds_any() && !agreement_.wants_round();
}

Task GroupCore::agree() {
  for (;;) {
    co_await until(
        [this] { return agreement_.wants_round() || (agreement_.planned() ? must_refuse() : link_->begun()); });
    if (context_.options.static_plan && agreement_.planned()) {
      if (!agreement_.own_vote().value_or(false))
        throw Error::bad_input("{}: comm.static promises the same requests in every step, but {} {} missing", title_,
                               join(agreement_.lacking(), ", "), agreement_.lacking().size() == 1 ? "is" : "are");
      run(agreement_.take_bucket());
      continue;
    }
    round_began_ = monotonic_now();
    silence_reported_ = false;
    asked_ = std::chrono::nanoseconds(0);
    woken_ = false;
    co_await agree_once();
    link_->finish_round();
    ++rounds_;
    round_began_ = std::chrono::nanoseconds(0);
  }
}

Task GroupCore::agree_once() {
  const bool planned = agreement_.planned();
  come_into(planned ? Phase::Voting : Phase::Negotiating);
  ++(planned ? context_.statistics.votes : context_.statistics.negotiations);
  if (trace_.on()) {
    Unit* waiting = agreement_.at_hand();
    trace_.round_begins(waiting ? Ticket::of(*waiting).submitted : std::chrono::nanoseconds(0));
  }
  const Tuning before = agreement_.tuning();
  Words words = agreement_.open(planned && must_refuse());
  co_await link_->combine(words, !planned);  // a vote wakes nobody who is not ready for it
  switch (agreement_.opened(words)) {
    case Agreement::Opened::Runs:
      run(agreement_.take_bucket());
      if (tuner_) tune();
      break;
    case Agreement::Opened::PlanOver:
      ++context_.statistics.plans_given_up;
      if (tuner_) tuner_->interrupted();
      break;
    case Agreement::Opened::Retuned: break;
    case Agreement::Opened::AllJoined: {
      Ticket& join = Ticket::of(*agreement_.take_join());
      join.result.last_joined = agreement_.last_joined();
      next_unnamed.store(agreement_.next_sequence(), std::memory_order_relaxed);
      finish(join);
      break;
    }
    case Agreement::Opened::Negotiates: co_await negotiate(); break;
  }
  if (agreement_.tuning() != before) ++context_.statistics.tunings;
  if (planned) {
    trace_.round_ends(trace::span_names::kVote);
  } else {
    trace_.round_ends(trace::span_names::kNegotiate);
  }
}

// A step begins where the plan does, and takes until it begins again.
void GroupCore::tune() {
  if (!agreement_.at_step_start()) return;
  if (const auto tuning = tuner_->step(monotonic_now(), agreement_.step_bytes())) agreement_.retune(*tuning);
}

Task GroupCore::negotiate() {
  const int leader = agreement_.leader();
  for (bool more = true; more;) {
    std::string proposal;
    if (leader == link_->rank()) proposal = agreement_.propose();
    co_await link_->spread(proposal, leader);
    Words words = agreement_.answer(proposal);
    co_await link_->combine(words);
    Agreement::Outcome outcome = agreement_.judged(words);
    for (Bucket& bucket : outcome.run) run(std::move(bucket));
    for (const std::size_t position : outcome.differs) co_await explain(position);
    more = outcome.more;
  }
  if (agreement_.stall_reported()) co_await report_stall();
}

// Members asked for different things under one name: everyone learns who asked for what.
Task GroupCore::explain(std::size_t position) {
  Unit* unit = agreement_.proposed(position);
  std::string what = agreement_.proposed_title(position);
  std::vector<std::string> told;
  co_await link_->tell(signatures_of(unit), told);
  const std::size_t index = first_difference(told);
  if (unit && unit->next) what = title_within(*unit, index);
  co_await link_->tell(explanation(unit, index), told);
  std::vector<std::optional<Description>> asked;
  for (const std::string& text : told) {
    std::string_view bytes = text;
    asked.push_back(bytes.empty() ? std::optional<Description>() : read_description(bytes));
  }
  std::vector<int> differing;
  for (std::size_t member = 0; member < asked.size(); ++member)
    if (asked[member] != asked.front()) differing.push_back(rank_of(static_cast<int>(member)));
  const std::string message = describe_mismatch(what, asked, *ranks_);
  agreement_.settle(position);
  if (unit)
    fail_unit(*unit, [&](const Ticket&) { return Error(Error::Kind::Mismatch, message, {.ranks = differing}); });
}

// Somebody has waited for too long: everyone learns who has what. Ranks that are busy elsewhere take part too, for
// their engine does it for them.
Task GroupCore::report_stall() {
  const auto now = monotonic_now();
  const auto& options = context_.options;
  std::vector<std::string> mine;
  bool give_up = false;
  for (Unit* unit : agreement_.pending()) {
    const auto age = now - Ticket::of(*unit).submitted;
    if (age < options.stall_warn && (options.stall_abort.count() == 0 || age < options.stall_abort)) continue;
    if (mine.size() < kMostStalls) mine.push_back(comm::detail::title(*unit));
    give_up = give_up || (options.stall_abort.count() > 0 && age >= options.stall_abort);
  }
  std::vector<std::string> told;
  co_await link_->tell(write_titles(mine), told);
  const std::vector<std::string> titles = join_titles(told);
  StallAnswer answer{.has = {}, .give_up = give_up, .doing = context_.doing(rank_of(rank()))};
  for (const std::string& title : titles) answer.has.push_back(agreement_.has(title));
  co_await link_->tell(write_answer(answer), told);
  std::vector<StallAnswer> answers;
  for (const std::string& text : told) answers.push_back(read_answer(text));
  tell_stalls(find_stalls(titles, answers), answers);
}

void GroupCore::tell_stalls(const std::vector<Stall>& stalls, const std::vector<StallAnswer>& answers) {
  const bool give_up = std::ranges::any_of(answers, &StallAnswer::give_up);
  for (const Stall& stall : stalls) {
    std::vector<std::string> doing;
    std::vector<int> missing;
    for (const int member : stall.missing) {
      const auto index = static_cast<std::size_t>(member);
      missing.push_back(rank_of(member));
      doing.push_back(fmt::format("{}: {}", context_.who(missing.back()), answers[index].doing));
    }
    std::string elapsed = format_duration(context_.options.stall_warn) + " and more";
    for (Unit* unit : agreement_.pending())
      if (comm::detail::title(*unit) == stall.title)
        elapsed = format_duration(monotonic_now() - Ticket::of(*unit).submitted);
    const std::string text = describe_stall(stall, elapsed, doing);
    if (give_up) throw Error(Error::Kind::Timeout, text + "; given up (comm.stall_abort)", {.ranks = missing});
    if (stall.waiting.front() == rank()) context_.options.log.warn("{}", text);
  }
}

// A round is under way, and some members have not come: their program has not submitted all of the bucket that is voted
// on; or, while negotiating, their engine itself does not answer, which takes a stopped or starved process.
void GroupCore::check_silence(std::chrono::nanoseconds elapsed) {
  const auto& options = context_.options;
  const auto warn = silence_reported_ ? std::chrono::nanoseconds(0) : options.stall_warn;
  const auto ask = next_question({.warn = warn, .abort = options.stall_abort}, asked_, asking_costs_ * kMessagePause);
  if (!ask) return;
  if (elapsed >= *ask / 2 && !std::exchange(woken_, true)) link_->wake(link_->silent());  // to show what they did last
  if (elapsed >= *ask) {
    asked_ = elapsed;
    asking_costs_ = link_->ask_silent();
  }
  const bool aborts = options.stall_abort.count() > 0 && elapsed >= options.stall_abort;
  if (elapsed < options.stall_warn && !aborts) return;
  const std::vector<int> members = link_->silent();
  if (members.empty()) return;
  std::vector<int> missing;
  std::vector<std::string> doing;
  for (const int member : members) {
    missing.push_back(rank_of(member));
    doing.push_back(fmt::format("{}: {}", context_.who(missing.back()), context_.doing(missing.back())));
  }
  const Unit* waiting = agreement_.at_hand();
  const std::string what = waiting ? comm::detail::title(*waiting) : title_;
  const std::string text = describe_stall({.title = what}, format_duration(elapsed), doing);
  if (aborts) return fail(Error(Error::Kind::Timeout, text + "; given up (comm.stall_abort)", {.ranks = missing}));
  if (std::exchange(silence_reported_, true)) return;
  // One report is enough: the lowest of those who wait makes it.
  int reporter = 0;
  while (std::ranges::find(members, reporter) != members.end()) ++reporter;
  if (reporter == rank()) options.log.warn("{}", text);
}

// All have agreed, and somebody has stopped in the middle: that takes a stopped or starved process, or a network that
// moves nothing. A slow one is no stall.
void GroupCore::check_motion(std::chrono::nanoseconds now) {
  if (!moving() || std::exchange(moves_seen_, moves_) != moves_ || still_since_.count() == 0) {
    still_since_ = now;
    stillness_reported_ = false;
    return;
  }
  const auto& options = context_.options;
  const auto elapsed = now - still_since_;
  const bool aborts = options.stall_abort.count() > 0 && elapsed >= options.stall_abort;
  if (elapsed < options.stall_warn && !aborts) return;
  std::vector<int> stopped;
  std::vector<std::string> names;
  for (const int rank : *ranks_) {
    if (!context_.stopped(rank)) continue;
    stopped.push_back(rank);
    names.push_back(context_.who(rank));
  }
  Unit* const unit = queue_.front().bucket.front().unit;
  const std::string text =
      fmt::format("{}: all ranks have agreed, but no data has moved for {}; {}",
                  unit ? comm::detail::title(*unit) : title_, format_duration(elapsed),
                  names.empty() ? "no rank of this node is stopped: check the other nodes and the network"
                                : fmt::format("stopped by a signal or a debugger: {}", join(names, ", ")));
  if (aborts) return fail(Error(Error::Kind::Timeout, text + "; given up (comm.stall_abort)", {.ranks = stopped}));
  if (!std::exchange(stillness_reported_, true)) options.log.warn("{}", text);
}

void GroupCore::check_stall(std::chrono::nanoseconds now) {
  check_motion(now);
  watch_streams(now);
  if (!agreeing_) return;
  if (round_began_.count() > 0) return check_silence(now - round_began_);
  const auto& options = context_.options;
  const std::vector<Unit*> waiting = agreement_.pending();
  if (waiting.empty()) return;
  const auto age = now - Ticket::of(*waiting.front()).submitted;
  const bool late = age >= options.stall_warn && now - stall_reported_ >= options.stall_warn;
  const bool aborts = options.stall_abort.count() > 0 && age >= options.stall_abort;
  if (!late && !aborts) return;
  stall_reported_ = now;
  agreement_.report_stall();
}

}  // namespace ronde::comm::detail
