#include "ronde/parallel/store_bootstrap.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/comm/mpi_bootstrap.h"
#include "ronde/comm/socket_bootstrap.h"

namespace ronde::parallel {
namespace {

using namespace std::chrono_literals;
using Bytes = std::vector<std::uint8_t>;
using Milliseconds = std::chrono::milliseconds;

// How long the rank that serves waits for the others before it goes.
constexpr auto kLastWait = 5s;
constexpr auto kPause = 20ms;  // before a store is tried again

// The store takes no "never", and no time that is over.
Milliseconds time_left(const Deadline& until) {
  const auto left = std::chrono::ceil<Milliseconds>(until.left().value_or(24h));
  return std::clamp<Milliseconds>(left, 1ms, 24h);
}

class StoreBootstrap final : public comm::Bootstrap {
 public:
  StoreBootstrap(StorePlace place, const Deadline& until) : place_(std::move(place)) { connect(until); }
  // In a store that there is.
  StoreBootstrap(StorePlace place, c10::intrusive_ptr<c10d::Store> store)
      : place_(std::move(place)), given_(true), store_(std::move(store)) {
    const auto start = monotonic_now();
    try {
      begin_life();
    } catch (const c10::Error& error) {
      throw lost(error, start);
    }
  }
  StoreBootstrap(const StoreBootstrap&) = delete;
  StoreBootstrap& operator=(const StoreBootstrap&) = delete;
  ~StoreBootstrap() override {
    if (!place_.serves || exchanges_ == 0) return;
    try {
      std::vector<std::string> keys;
      for (int rank = 0; rank < place_.size; ++rank) keys.push_back(read_key(rank));
      store_->wait(keys, kLastWait);
    } catch (const c10::Error&) {  // somebody has died over it; we need not stay
    }
  }

  int rank() const override { return place_.rank; }
  int size() const override { return place_.size; }

  std::vector<std::string> exchange(const std::string& mine, Deadline until) override {
    ++exchanges_;
    const auto start = monotonic_now();
    while (true) {
      try {
        return meet(mine, until);
      } catch (const c10::DistNetworkError& error) {
        // Rank 0 may have served an engine before this one, and have taken that store away only now.
        if (given_ || exchanges_ > 1 || place_.serves || until.passed()) throw lost(error, start);
        connect(until);
      } catch (const c10::Error& error) {
        throw late(error, start);
      }
    }
  }

 private:
  // A store that is only just there, or that is just going, is tried again.
  void connect(const Deadline& until) {
    for (const auto start = monotonic_now();; std::this_thread::sleep_for(kPause)) {
      try {
        return enter(until);
      } catch (const c10::Error& error) {
        if (place_.serves || until.passed()) throw unreachable(error, start);
      }
    }
  }

  // The store counts how often each rank has come here, so that a second engine in these processes does not find the
  // keys of the first; we have no memory between the two.
  void enter(const Deadline& until) {
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(place_.port);
    options.isServer = place_.serves;
    options.waitWorkers = false;
    options.timeout = time_left(until);
    options.multiTenant = true;  // torch.distributed may serve at the same port of this process
    store_ = c10::make_intrusive<c10d::TCPStore>(place_.host, options);
    begin_life();
  }

  // That of somebody else's store is theirs. Nothing here waits by it: only wait() does, which is told how long.
  void set_timeout(Milliseconds timeout) {
    if (!given_) store_->setTimeout(timeout);
  }

  void begin_life() { life_ = store_->add(fmt::format("{}/lives of {}", place_.prefix, place_.rank), 1); }

  Error unreachable(const c10::Error& error, std::chrono::nanoseconds start) const {
    return {place_.serves ? Error::Kind::System : Error::Kind::Timeout,
            fmt::format("bootstrap: rank {} cannot {} the store {} (MASTER_ADDR, MASTER_PORT), after {}: {}",
                        place_.rank, place_.serves ? "serve" : "reach", address(),
                        format_duration(monotonic_now() - start), error.what_without_backtrace())};
  }

  std::vector<std::string> meet(const std::string& mine, const Deadline& until) {
    set_timeout(time_left(until));
    store_->set(key(place_.rank), Bytes(mine.begin(), mine.end()));
    if (place_.rank == 0) pass_on(until);
    store_->wait({key(kAll)}, time_left(until));
    std::vector<std::string> blobs = split(store_->get(key(kAll)));
    store_->set(read_key(place_.rank), Bytes{1});  // has no answer: the rank that serves may go at once
    return blobs;
  }

  // Rank 0 reads what each has given and gives it to all in one piece: the store answers each rank once, rather than
  // once for each other rank.
  void pass_on(const Deadline& until) {
    std::vector<std::string> keys;
    for (int rank = 0; rank < place_.size; ++rank) keys.push_back(key(rank));
    store_->wait(keys, time_left(until));
    Bytes all;
    for (const Bytes& bytes : store_->multiGet(keys)) {
      const auto length = static_cast<std::uint32_t>(bytes.size());
      for (int shift = 0; shift < 32; shift += 8) all.push_back(static_cast<std::uint8_t>(length >> shift));
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    store_->set(key(kAll), all);
  }

  std::vector<std::string> split(const Bytes& all) const {
    std::vector<std::string> blobs;
    for (std::size_t at = 0; at + 4 <= all.size();) {
      std::size_t length = 0;
      for (std::size_t i = 0; i < 4; ++i) length |= static_cast<std::size_t>(all[at + i]) << (8 * i);
      at += 4;
      if (length > all.size() - at) break;
      blobs.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at),
                         all.begin() + static_cast<std::ptrdiff_t>(at + length));
      at += length;
    }
    if (std::ssize(blobs) != place_.size)
      throw Error(Error::Kind::System, fmt::format("bootstrap: the store at {} holds what {} ranks gave, not {}",
                                                   address(), blobs.size(), place_.size));
    return blobs;
  }

  std::string address() const {
    return given_ ? "of torch.distributed" : fmt::format("at {}:{}", place_.host, place_.port);
  }

  template <class What>
  std::string key(const What& what) const {
    return fmt::format("{}/{}/{}/{}", place_.prefix, life_, exchanges_, what);
  }

  std::string read_key(int rank) const { return key(fmt::format("read by {}", rank)); }

  Error lost(const c10::Error& error, std::chrono::nanoseconds start) const {
    return {Error::Kind::PeerLost,
            fmt::format("bootstrap: rank {} has lost the store {}, after {}: {}", place_.rank, address(),
                        format_duration(monotonic_now() - start), error.what_without_backtrace())};
  }

  // Whose keys are missing.
  Error late(const c10::Error& error, std::chrono::nanoseconds start) {
    const std::string elapsed = format_duration(monotonic_now() - start);
    std::vector<int> missing;
    std::vector<std::string> names;
    try {
      set_timeout(1s);
      for (int rank = 0; rank < place_.size; ++rank) {
        if (store_->check({key(rank)})) continue;
        missing.push_back(rank);
        names.push_back(std::to_string(rank));
      }
    } catch (const c10::Error&) {  // then the store itself does not answer
      missing.clear();
    }
    if (missing.empty() && place_.rank != 0 && answers())
      return {Error::Kind::Timeout,
              fmt::format("bootstrap: all ranks have arrived at the store {}, but rank 0 has not passed on what they "
                          "gave; rank {} waited {}",
                          address(), place_.rank, elapsed),
              {.ranks = {0}}};
    if (missing.empty())
      return {Error::Kind::Timeout, fmt::format("bootstrap: the store {} does not answer rank {}, after {}: {}",
                                                address(), place_.rank, elapsed, error.what_without_backtrace())};
    return {Error::Kind::Timeout,
            fmt::format("bootstrap: {} {} did not arrive at the store {}; rank {} waited {}",
                        missing.size() == 1 ? "rank" : "ranks", join(names, ", "), address(), place_.rank, elapsed),
            {.ranks = missing}};
  }

  bool answers() {
    try {
      store_->check({key(place_.rank)});
      return true;
    } catch (const c10::Error&) {
      return false;
    }
  }

  static constexpr const char* kAll = "all";

  const StorePlace place_;
  const bool given_ = false;
  c10::intrusive_ptr<c10d::Store> store_;
  std::int64_t life_ = 0;  // which of this rank's bootstraps this is
  int exchanges_ = 0;
};

int number(const char* variable, const std::string& text, int least, int most) {
  const auto value = parse_number<int>(text);
  if (!value || *value < least || *value > most)
    throw Error::bad_input("{}='{}': write a whole number from {} to {}", variable, text, least, most);
  return *value;
}

bool started_by_torchrun(const Environment& environment) {
  return environment.get("TORCHELASTIC_RUN_ID").has_value();
}

}  // namespace

std::optional<StorePlace> store_place(const Environment& environment) {
  constexpr int kMostRanks = 1 << 20;
  const auto rank = environment.get("RANK"), size = environment.get("WORLD_SIZE");
  if (!rank || !size) return {};
  StorePlace place{.size = number("WORLD_SIZE", *size, 1, kMostRanks), .host = "", .prefix = ""};
  place.rank = number("RANK", *rank, 0, place.size - 1);
  const auto host = environment.get("MASTER_ADDR"), port = environment.get("MASTER_PORT");
  if (place.size == 1) return place;  // nobody to meet
  if (!host || !port)
    throw Error::bad_input("RANK={} and WORLD_SIZE={} mean several ranks, but {} is not set", *rank, *size,
                           host ? "MASTER_PORT" : "MASTER_ADDR");
  place.host = *host;
  place.port = number("MASTER_PORT", *port, 1, 65535);
  place.serves = place.rank == 0 && environment.get("TORCHELASTIC_USE_AGENT_STORE") != "True";
  place.prefix = fmt::format("ronde/{}", environment.get("TORCHELASTIC_RESTART_COUNT").value_or("0"));
  return place;
}

std::unique_ptr<comm::Bootstrap> store_bootstrap(const StorePlace& place, Deadline until) {
  return std::make_unique<StoreBootstrap>(place, until);
}

std::unique_ptr<comm::Bootstrap> store_bootstrap(c10::intrusive_ptr<c10d::Store> store, const StorePlace& place) {
  return std::make_unique<StoreBootstrap>(place, std::move(store));
}

std::unique_ptr<comm::Bootstrap> bootstrap_from(const Environment& environment, Deadline until) {
  const bool torchrun = started_by_torchrun(environment);
  for (const char* ours : {comm::kBootstrapVariable, comm::kRankVariable, comm::kSizeVariable})
    if (environment.get(ours)) return comm::bootstrap_from(environment, until);
  if (!torchrun && comm::runs_under_mpi(environment)) return comm::bootstrap_from(environment, until);
  const auto place = store_place(environment);
  if (place && place->size > 1) return store_bootstrap(*place, until);
  // The job that torchrun runs in may have several ranks; torchrun has started one.
  return comm::bootstrap_from(torchrun ? Environment{} : environment, until);
}

}  // namespace ronde::parallel
