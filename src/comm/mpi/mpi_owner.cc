#include "ronde/comm/mpi/mpi_owner.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/settings/settings.h"
#include "ronde/base/system/clock.h"
#include "ronde/base/system/library.h"
#include "ronde/base/system/mutex.h"
#include "ronde/base/system/thread.h"
#include "ronde/base/text/text.h"
#include "ronde/comm/mpi/find_plugin.h"
#include "ronde/comm/watch/stall.h"

namespace ronde::comm::detail {
namespace {

using namespace std::chrono_literals;

constexpr int kLongestVersion = 16384;  // MPICH's is a page
constexpr auto kEndTime = 3s;           // for all ranks to come to their end, when one may not come
constexpr auto kLookForRanks = 1s;      // how often
constexpr auto kLastWait = 200ms;

struct Owner {
  Mutex mutex;
  std::unique_ptr<MpiOwner> one RONDE_GUARDED_BY(mutex);
};
Owner& owner() {
  static auto* all = new Owner;  // never destroyed: the end of the process needs it
  return *all;
}

const RondeMpi* load_plugin(const Environment& environment) {
  const Settings settings = Settings::load(environment, {});
  const LaunchedBy by = launched_by(environment);
  std::vector<std::string> tried;
  for (const MpiKind kind : plugins_to_try(loaded_mpi_library(), settings.get<"mpi.library">(), by)) {
    for (const auto& folder : plugin_folders()) {
      const auto file = folder / plugin_file(kind);
      if (!std::filesystem::exists(file)) continue;
      try {
        const Library library(file);
        const RondeMpi* table = library.function<const RondeMpi*()>("ronde_mpi")();
        if (table->version == RondeMpi::kVersion) return table;
        tried.push_back(fmt::format("{} belongs to another version of Ronde", file.string()));
      } catch (const Error& error) {
        tried.push_back(error.what());
      }
    }
    if (tried.empty()) tried.push_back(fmt::format("this build has no {}", plugin_file(kind)));
  }
  throw Error::bad_input("{}, but its MPI cannot be used: {}",
                         by.ranks > 0 ? fmt::format("{} started this process", by.launcher) : "MPI was requested",
                         join(tried, "; "));
}

// MPI_Init waits for all ranks, and nothing can make it return: so the process ends, and its launcher the others.
class InitLimit {
 public:
  explicit InitLimit(const Deadline& until) {
    if (!until.at()) return;
    thread_ = std::jthread([this, at = *until.at()](const std::stop_token& stop) {
      name_this_thread("ronde mpi start");
      Lock lock(mutex_);
      if (returned_.wait_until(lock, stop, at, [&] { return stop.stop_requested(); })) return;
      if (stop.stop_requested()) return;
      std::fputs(
          "MPI_Init did not return within comm.start_timeout: not all ranks have called it, or MPI cannot connect "
          "their hosts; this rank exits\n",
          stderr);
      std::_Exit(1);
    });
  }

 private:
  Mutex mutex_;
  std::condition_variable_any returned_;
  std::jthread thread_;  // its destructor asks it to stop
};

std::string text_from(void (*ask)(char*, int)) {
  std::array<char, kLongestVersion> text{};
  ask(text.data(), kLongestVersion);
  return text.data();
}

}  // namespace

MpiOwner& MpiOwner::get(const Environment& environment, const Deadline& until) {
  Owner& all = owner();
  const Lock lock(all.mutex);
  if (!all.one) all.one.reset(new MpiOwner(environment, until));
  return *all.one;
}

bool MpiOwner::program_has_started() {
  const std::string file = loaded_mpi_library();
  if (file.empty()) return false;
  int flag = 0;
  Library(file).function<int(int*)>("MPI_Initialized")(&flag);
  return flag != 0;
}

MpiOwner::MpiOwner(const Environment& environment, const Deadline& until) : table_(load_plugin(environment)) {
  version_ = text_from(table_->library);
  library_ = loaded_mpi_library();
  if (table_->finalized())
    throw Error::bad_input("this program has already called MPI_Finalize; create the engine before that");
  if (!table_->initialized()) start(environment, until);
  int level = 0;
  check(table_->thread_level(&level), "MPI_Query_thread");
  if (level < RondeMpi::kSerialized)
    throw Error::bad_input(
        "this program has started MPI for one thread only; call MPI_Init_thread with MPI_THREAD_SERIALIZED, or with "
        "MPI_THREAD_MULTIPLE if it calls MPI itself while the engine lives");
  open(until);
  if (const std::string trouble = trouble_with_world(environment, size_, library_, version_); !trouble.empty())
    throw Error(Error::Kind::BadInput, trouble);
}

// A rank that never comes would keep the others here for ever.
void MpiOwner::open(const Deadline& until) {
  for (int i = 0; i < RondeMpi::kCommunicators; ++i) {
    check(table_->begin_open(), "MPI_Comm_idup");
    int done = 0;
    while ((done = table_->step_done()) == 0) {
      if (until.passed())
        throw Error(Error::Kind::Timeout,
                    "MPI has started, but not all ranks have created an engine within comm.start_timeout");
      std::this_thread::sleep_for(100us);
    }
    if (done < 0) check(-done, "MPI_Comm_idup");
  }
  check(table_->describe(&rank_, &size_, &largest_tag_), "MPI_Comm_size");
}

void MpiOwner::start(const Environment& environment, const Deadline& until) {
  if (const std::string trouble = trouble_before_start(environment, library_, version_); !trouble.empty())
    throw Error(Error::Kind::BadInput, trouble);
  // Open MPI spins where it waits, also when ranks outnumber cores; ours never wait in it for long.
  ::setenv("OMPI_MCA_mpi_yield_when_idle", "1", /*overwrite=*/0);
  int provided = 0;
  {
    const InitLimit limit(until);
    check(table_->init(&provided), "MPI_Init_thread");
  }
  started_by_us_ = true;
  on_exit(end, reinterpret_cast<void*>(static_cast<std::intptr_t>(getpid())));
}

void MpiOwner::check(int code, const std::string& what) const {
  if (code == 0) return;
  std::array<char, 1024> text{};
  table_->error_text(code, text.data(), static_cast<int>(text.size()));
  throw Error(Error::Kind::System, fmt::format("{} failed: {} ({})", what, text.data(), library_));
}

int MpiOwner::before_end(std::vector<int> pids, std::function<void()> leave) {
  const Lock lock(mutex_);
  pids_ = std::move(pids);
  to_leave_.emplace(next_number_, std::move(leave));
  return next_number_++;
}

void MpiOwner::forget(int number) {
  Lock lock(mutex_);
  to_leave_.erase(number);
  if (leaver_ == std::this_thread::get_id()) return;  // it is leaving by itself
  left_.wait(lock, [&]() RONDE_REQUIRES(mutex_) { return leaving_ != number; });
}

// Engines that nobody has ended: their threads call MPI, and their ranks are to be told.
void MpiOwner::leave_all() {
  Lock lock(mutex_);
  leaver_ = std::this_thread::get_id();
  while (!to_leave_.empty()) {
    const auto next = to_leave_.extract(to_leave_.begin());
    leaving_ = next.key();
    lock.unlock();  // others may be ending theirs
    next.mapped()();
    lock.lock();
    leaving_ = -1;
    left_.notify_all();
  }
}

bool MpiOwner::a_rank_has_ended() {
  const Lock lock(mutex_);
  return lost_ || std::ranges::any_of(pids_, process_has_ended);
}

// What MPI says of the barrier: 1 when all have come. Others may save their models for an hour; but who has failed, or
// misses one, does not wait for what may never come.
int MpiOwner::wait_for_all(bool failed) {
  const auto begin = monotonic_now();
  Deadline until = failed ? Deadline::after(kEndTime) : Deadline();
  auto next_look = begin;
  for (;;) {
    const int done = table_->step_done();
    const auto now = monotonic_now();
    if (done != 0 || until.passed()) return done;
    if (!until.at() && now >= next_look) {
      next_look = now + kLookForRanks;
      if (a_rank_has_ended()) until = Deadline::after(kEndTime);  // maybe it has come, and we have not heard yet
    }
    std::this_thread::sleep_for(std::clamp<std::chrono::nanoseconds>((now - begin) / 10, 100us, 20ms));
  }
}

// MPI_Finalize waits for all ranks. When one has died it would wait for ever: so first a barrier that may fail. Between
// hosts MPICH's own hangs now and then over TCP, and its launcher does not miss it. A forked child inherits this call,
// but neither the rank nor its threads.
void MpiOwner::end(int status, void* process) {
  if (reinterpret_cast<std::intptr_t>(process) != getpid()) return;
  MpiOwner* self = nullptr;
  {
    Owner& all = owner();
    const Lock lock(all.mutex);
    self = all.one.get();
  }
  if (!self) return;  // MPI has started, and then its world could not be right
  self->leave_all();
  if (self->table_->finalized() || self->table_->begin_barrier() != 0) return;
  if (self->wait_for_all(status != 0) != 1) return;
  if (kind_of(self->version_) == MpiKind::OpenMpi) {
    self->table_->finalize();
  } else {
    // Who still asks MPI for the barrier must not find that others have hung up: MPICH would end it with code 1.
    std::this_thread::sleep_for(kLastWait);
  }
}

}  // namespace ronde::comm::detail
