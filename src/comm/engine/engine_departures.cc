// Ranks that go, this one included, and what comes over the network.
#include <algorithm>

#include "ronde/base/system/clock.h"
#include "ronde/base/system/mutex.h"
#include "ronde/comm/engine/engine_core.h"
#include "ronde/comm/link/nodes/nodes_notes.h"

namespace ronde::comm::detail {
namespace {

constexpr char kGone = 'g';                          // a note about a rank that has gone
constexpr std::chrono::seconds kLastWords{2};        // how long they may take
constexpr std::chrono::milliseconds kLastPush{200};  // the same of data
constexpr std::chrono::microseconds kLook{200};      // how often to look meanwhile

}  // namespace

bool EngineCore::pump() {
  if (!peers_.mesh || broken_) return false;
  const bool moved = peers_.mesh->pump();
  const bool more = peers_.data && peers_.data->pump();
  if (moved || more) naps_back_off_.reset();
  return moved || more;
}

void EngineCore::listen_to_mesh() {
  peers_.mesh->listen({.noted =
                           [this](int from, std::string_view text) {
                             token_.assert_held();
                             on_note(from, text);
                           },
                       .lost = [this](int peer, const std::string& how) { lose(peer, how); }});
  watchdog_->watch_also(peers_.mesh->descriptor(), [this] { node().summon_self(); });
}

// A group that is not known here has been dropped, or its program here has not asked for anything in it yet.
void EngineCore::on_note(int from, std::string_view text) {
  if (text.empty()) return;
  if (text.front() == kGone) {
    for (Departure& departure : read_departures(text.substr(1))) note_departure(std::move(departure), is_here(from));
    return;
  }
  const auto note = read_note(text);
  if (!note) return;
  for (const auto& group : groups_)
    if (group->channel == note->channel && std::ranges::find(group->ranks(), from) != group->ranks().end())
      group->link().heard(from, *note);
}

void EngineCore::lose(int peer, const std::string& how) {
  note_departure({.rank = peer,
                  .blamed = peer,
                  .text = fmt::format("{} is gone: its connection has ended ({})", who(peer), how),
                  .done = {}},
                 /*from_node=*/false);
}

// How the process of a rank ended, as far as can be learnt.
std::string EngineCore::how_ended(int rank) const {
  try {
    return bootstrap_ ? bootstrap_->how_ended(rank, Deadline::after(std::chrono::seconds(1))) : "";
  } catch (const std::exception&) {
    return {};
  }
}

// On the watchdog's thread.
void EngineCore::on_peer_message(int peer, const std::string& message) {
  if (!message.empty()) {
    for (Departure& departure : read_departures(message)) note_departure(std::move(departure), /*from_node=*/true);
    return;
  }
  const int rank = peers_.ranks[static_cast<std::size_t>(peer)];
  {
    const Lock lock(inbox_mutex_);
    if (gone_.contains(rank)) return;
  }
  const std::string how = how_ended(rank);
  note_departure(
      {.rank = rank, .blamed = rank, .text = who(rank) + (how.empty() ? " is gone" : " is gone: " + how), .done = {}},
      /*from_node=*/true);
}

// The first word about a rank counts. Any thread.
void EngineCore::note_departure(Departure departure, bool from_node) {
  const int ranks = peers_.job->size();
  if (departure.rank < 0 || departure.rank >= ranks || departure.rank == rank_) return;
  if (departure.blamed < 0 || departure.blamed >= ranks) departure.blamed = departure.rank;
  {
    const Lock lock(inbox_mutex_);
    if (!gone_.insert(departure.rank).second) return;
    if (process_end_ && !departure.by_itself) process_end_->note_loss();  // who has said goodbye before is not lost
    departed_.push_back({std::move(departure), from_node});
    fresh_.store(true, std::memory_order_release);
  }
  node().summon_self();
}

bool EngineCore::speaks() const {
  return speaker_of(peers_.ranks, gone_ranks_) == rank_;
}

// Not everyone is connected with everyone: who hears of it tells those that it should.
void EngineCore::on_departure(Departed departed) {
  Departure& departure = departed.what;
  const bool spoke = speaks();
  gone_ranks_.insert(std::ranges::lower_bound(gone_ranks_, departure.rank), departure.rank);
  if (peers_.mesh) {
    if (departure.done.empty()) departure.done = progress_of(departure.rank);
    tell(departure, departed.from_node);
    // Who spoke for this node before may not have come to it.
    if (!spoke && speaks())
      for (const Departure& before : departures_)
        if (is_here(before.rank)) untold_.nodes.push_back(before);
  }
  for (const auto& group : groups_) group->on_departure(departure);
  departures_.push_back(std::move(departure));
}

// Told by tell_rest().
void EngineCore::tell(const Departure& departure, bool from_node) {
  const GoneFrom gone = departure.rank == rank_   ? GoneFrom::ThisRank
                        : is_here(departure.rank) ? GoneFrom::ThisNode
                                                  : GoneFrom::Elsewhere;
  const Tells tells = who_is_told(gone, speaks(), from_node);
  if (tells.node) untold_.node.push_back(departure);
  if (tells.speaker) untold_.speaker.push_back(departure);
  if (tells.nodes) untold_.nodes.push_back(departure);
}

// Many ranks may go at about the same time: what was heard of at once is told at once.
void EngineCore::tell_rest() {
  const Untold untold = std::exchange(untold_, {});
  for (const std::string& message : write_departures(untold.node, Watchdog::kLongest)) watchdog_->say(message);
  const auto speaker = std::ranges::find(peers_.ranks, speaker_of(peers_.ranks, gone_ranks_));
  for (const std::string& message : write_departures(untold.speaker, Watchdog::kLongest))
    watchdog_->say_to(static_cast<int>(speaker - peers_.ranks.begin()), message);
  if (!peers_.mesh || untold.nodes.empty()) return;
  // Who leaves says goodbye to all that it is connected with: they see the connection end, and must know how far it
  // had come by then. Others that could pass it on may be leaving, too.
  const std::vector<int> partners = untold.nodes.back().rank == rank_
                                        ? peers_.mesh->connected()
                                        : gossip_partners(*peers_.layout, rank_, gone_ranks_);
  for (const std::string& message : write_departures(untold.nodes, FrameHeader::kLongestNote - sizeof(kGone)))
    for (const int partner : partners) peers_.mesh->note(partner, kGone + message);
}

// As far as this node can see.
std::vector<Departure::Done> EngineCore::progress_of(int rank) const {
  std::vector<Departure::Done> done;
  if (!is_here(rank)) return done;
  for (const auto& group : groups_) {
    const auto place = std::ranges::find(group->ranks(), rank);
    if (group->rank() < 0 || place == group->ranks().end()) continue;
    done.push_back(group->done_of(static_cast<int>(place - group->ranks().begin())));
  }
  return done;
}

void EngineCore::shutdown(const std::string& why) {
  end(why,
      Error(Error::Kind::PeerLost, fmt::format("this rank has shut its engine down{}{}", why.empty() ? "" : ": ", why),
            {.ranks = {rank_}}));
}

void EngineCore::vanish() {
  end({}, Error(Error::Kind::PeerLost, "this rank has been killed", {.ranks = {rank_}}));
}

// What others should know about why this rank leaves: another may have made it leave.
Departure EngineCore::own_departure(std::string why) const {
  Departure leaving{.rank = rank_, .blamed = rank_, .text = {}, .done = progress_of(rank_), .by_itself = true};
  std::string trouble;
  if (!departures_.empty()) {
    leaving.blamed = departures_.front().blamed;
    trouble = departures_.front().text;
  }
  for (const auto& group : groups_) {
    const auto refusal = group->refusal();
    if (!refusal || !trouble.empty()) continue;
    if (!refusal->ranks().empty()) leaving.blamed = refusal->ranks().front();
    trouble = refusal->what();
  }
  if (!trouble.empty()) why += (why.empty() ? "" : ", after ") + trouble;
  leaving.text = who(rank_) + " has left: " + (why.empty() ? "it shut down" : why);
  return leaving;
}

// Members may still need our words for a round in which nothing of ours is left.
void EngineCore::finish_rounds(Deadline until) {
  const auto owes = [this] {
    const Lock lock(token_);
    return std::ranges::any_of(groups_, [](const auto& group) { return group->owes_words(); });
  };
  while (owes() && !until.passed()) std::this_thread::sleep_for(kLook);
}

// After all that was sent before; what has no room yet is given time, and MPI a push for what it takes for sent.
bool EngineCore::say_goodbye(const Departure& leaving) {
  if (peers_.mesh) peers_.mesh->stop_accepting();
  tell(leaving, /*from_node=*/true);
  tell_rest();
  if (!peers_.mesh) return true;
  peers_.mesh->flush(Deadline::after(kLastWords));
  if (!peers_.data) return true;
  for (const Deadline until = Deadline::after(kLastPush); peers_.data->must_be_pumped() && !until.passed();) {
    peers_.data->pump();
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

void EngineCore::end(std::optional<std::string> last_words, const Error& why) {
  if (in_forked_child()) return;  // which may exit with this, but is not the rank
  const Lock once(end_mutex_);
  if (std::exchange(ended_, true)) return;
  if (hooks_.on_phase) hooks_.on_phase(Phase::ShuttingDown);
  {
    const Lock lock(inbox_mutex_);
    closed_ = why;
  }
  if (last_words && last_words->empty()) finish_rounds(Deadline::after(kLastWords));
  thread_.request_stop();
  node().wake_self(Node::Sleeper::Engine);
  thread_.join();
  const Lock lock(token_);
  guarded([&] {
    token_.assert_held();
    return drain();
  });
  std::optional<Departure> leaving;  // none when nobody is told, or not even that can be said
  guarded([&] {
    token_.assert_held();
    return last_words && (leaving = own_departure(*last_words));
  });
  guarded([&] {
    token_.assert_held();
    return fail_all(why);
  });
  guarded([&] {
    token_.assert_held();
    return !leaving || say_goodbye(*leaving);
  });
  wake_caller_if_done();
  for (const auto& group : groups_) group->stop();  // GPUs may still be copying from and to our memory
  watchdog_.reset();                                // it watches the others
  peers_.mesh.reset();
  peers_.guards.clear();
  peers_.sockets.clear();
}

}  // namespace ronde::comm::detail
