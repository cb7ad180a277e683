#include "ronde/comm/mpi/mpi_owner.h"

#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "ronde/base/clock.h"
#include "ronde/base/error.h"
#include "ronde/base/library.h"
#include "ronde/base/settings.h"
#include "ronde/base/text.h"
#include "ronde/base/thread.h"
#include "ronde/comm/mpi/find_plugin.h"

namespace ronde::comm::detail {
namespace {

using namespace std::chrono_literals;

constexpr int kLongestVersion = 16384;  // MPICH's is a page
constexpr auto kEndTime = 3s;           // for all ranks to come to their end
constexpr auto kLastWait = 200ms;

std::mutex& mutex() {
  static std::mutex one;
  return one;
}
std::unique_ptr<MpiOwner>& owner() {
  static auto* one = new std::unique_ptr<MpiOwner>();  // never destroyed: the end of the process needs it
  return *one;
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
                         by.ranks > 0 ? fmt::format("{} started this process", by.launcher) : "MPI was asked for",
                         join(tried, "; "));
}

// MPI_Init waits for all ranks, and nothing can make it return: so the process ends, and its launcher the others.
class InitLimit {
 public:
  explicit InitLimit(const Deadline& until) {
    if (!until.at()) return;
    thread_ = std::jthread([this, at = *until.at()](const std::stop_token& stop) {
      name_this_thread("ronde mpi start");
      std::unique_lock lock(mutex_);
      if (returned_.wait_until(lock, stop, at, [&] { return stop.stop_requested(); })) return;
      if (stop.stop_requested()) return;
      std::fputs(
          "MPI_Init did not return within comm.start_timeout: not all ranks have come to it, or MPI cannot connect "
          "their hosts; this rank ends\n",
          stderr);
      std::_Exit(1);
    });
  }

 private:
  std::mutex mutex_;
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
  std::lock_guard lock(mutex());
  if (!owner()) owner().reset(new MpiOwner(environment, until));
  return *owner();
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
    throw Error::bad_input("this program has already called MPI_Finalize; an engine must be made before that");
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
                    "MPI has started, but not all ranks have made an engine within comm.start_timeout");
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
  std::atexit(end);
}

void MpiOwner::check(int code, const std::string& what) const {
  if (code == 0) return;
  std::array<char, 1024> text{};
  table_->error_text(code, text.data(), static_cast<int>(text.size()));
  throw Error(Error::Kind::System, fmt::format("{} failed: {} ({})", what, text.data(), library_));
}

// MPI_Finalize waits for all ranks. When one has died it would wait for ever: so first a barrier that may fail. Between
// hosts MPICH's own hangs now and then over TCP, and its launcher does not miss it.
void MpiOwner::end() {
  std::lock_guard lock(mutex());
  if (!owner()) return;  // MPI has started, and then its world could not be right
  const MpiOwner& self = *owner();
  if (self.table_->finalized() || self.table_->begin_barrier() != 0) return;
  const Deadline until = Deadline::after(kEndTime);
  int done = 0;
  while ((done = self.table_->step_done()) == 0 && !until.passed()) std::this_thread::sleep_for(100us);
  if (done != 1) return;
  if (kind_of(self.version_) == MpiKind::OpenMpi) {
    self.table_->finalize();
  } else {
    // Who still asks MPI for the barrier must not find that others have hung up: MPICH would end it with code 1.
    std::this_thread::sleep_for(kLastWait);
  }
}

}  // namespace ronde::comm::detail
