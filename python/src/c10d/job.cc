#include "job.h"

#include <algorithm>

#include "ronde/base/settings/environment.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/comm/socket_bootstrap.h"
#include "ronde/parallel/store_bootstrap.h"

namespace ronde::python::c10d_backend {
namespace {

std::string dropped_key(std::int64_t number) {
  return fmt::format("ronde/left {}", number);
}

// As these ranks: then its own way of meeting is there, which knows how a process has ended.
bool started_by_ronde_run(int rank, int size) {
  const Environment environment = Environment::of_process();
  return environment.get(comm::kBootstrapVariable) && environment.get(comm::kRankVariable) == std::to_string(rank) &&
         environment.get(comm::kSizeVariable) == std::to_string(size);
}

}  // namespace

Settings settings_with(const std::string& timeout) {
  const std::string text = fmt::format("[comm]\nstall_abort = \"{0}\"\nstart_timeout = \"{0}\"\n", timeout);
  return Settings::load(Environment::of_process(), std::span<const Settings::Flag>(),
                        {.text = text, .name = "the timeout of init_process_group()"});
}

std::shared_ptr<Job> Job::begin(Store store, int rank, int size, std::chrono::milliseconds timeout, bool ends_session) {
  State& state = State::of_process();
  const bool owns = ends_session || !state.running();
  if (!state.running()) {
    std::unique_ptr<comm::Bootstrap> bootstrap;
    if (!started_by_ronde_run(rank, size)) {
      const parallel::StorePlace place{
          .rank = rank, .size = size, .host = "", .serves = rank == 0 && size > 1, .prefix = "ronde"};
      const py::gil_scoped_release unlocked;
      bootstrap = parallel::store_bootstrap(store, place);
    }
    state.start(settings_with(fmt::format("{}ms", timeout.count())), std::move(bootstrap));
  }
  const comm::Engine& engine = state.session().engine();
  if (engine.rank() != rank || engine.size() != size)
    throw Error::bad_input("init_process_group: rank {} of {} is rank {} of {} in the session that ronde has begun",
                           rank, size, engine.rank(), engine.size());
  std::shared_ptr<Job> job(new Job(std::move(store), owns, state.session()));
  state.add_user(job.get());
  return job;
}

Job::Job(Store store, bool owns, const Session& session)
    : store_(std::move(store)),
      number_(store_->add(fmt::format("ronde/jobs of {}", session.rank()), 1)),
      owns_(owns),
      engine_(session.engine()),
      start_timeout_(session.settings().get<"comm.start_timeout">()),
      stall_abort_(session.settings().get<"comm.stall_abort">()) {}

Job::~Job() {
  if (running_) State::of_process().remove_user(this);
}

void Job::check_running() const {
  if (!running_) throw Error::bad_input("the process group has been destroyed, or ronde's session has ended");
}

comm::Group Job::world() const {
  check_running();
  return engine_.world();
}

// Members meet under the names of their ranks: what torch calls the group depends on how many groups a rank is in.
Job::Made Job::make_group(const std::vector<int>& ranks) {
  check_running();
  free_what_all_left();
  const auto place = static_cast<int>(std::ranges::find(ranks, engine_.rank()) - ranks.begin());
  const auto bootstrap =
      parallel::store_bootstrap(store_, {.rank = place,
                                         .size = static_cast<int>(ranks.size()),
                                         .host = "",
                                         .prefix = fmt::format("ronde/group of {}", c10::Join(",", ranks))});
  std::string mine;
  if (place == 0) mine = std::to_string(store_->add("ronde/groups", 1));
  const auto told = bootstrap->exchange(mine, Deadline::after(start_timeout_));
  const auto number = parse_number<std::uint32_t>(told.front());
  if (!number)
    throw Error(Error::Kind::System, fmt::format("rank {} sent '{}' as a group's number", ranks[0], told.front()));
  return {engine_.make_group_among(ranks, *number, *bootstrap), *number};
}

void Job::leave_group(const Made& made) {
  if (!running_) return;
  try {
    store_->add(dropped_key(made.number), 1);
  } catch (const c10::Error&) {  // whoever serves the store has left: then the job ends
    return;
  }
  {
    const Lock lock(mutex_);
    left_.push_back(made);
  }
  free_what_all_left();
}

void Job::free_what_all_left() {
  const Lock lock(mutex_);
  std::erase_if(left_, [this](const Made& one) {
    try {
      if (store_->add(dropped_key(one.number), 0) < one.group.size()) return false;
      engine_.drop_group_among(one.group);
      return true;
    } catch (const c10::Error&) {
    } catch (const Error&) {  // something of it is still on its way: it stays as it is
    }
    return false;
  });
}

void Job::end(const std::string& why) {
  if (!running_) return;
  const py::gil_scoped_acquire lock;
  if (owns_) {
    State::of_process().stop(why);
  } else {
    State::of_process().remove_user(this);
    session_ends();
  }
}

std::optional<std::chrono::nanoseconds> Job::limit_for(std::chrono::milliseconds timeout) const {
  if (timeout.count() <= 0 || timeout == stall_abort_) return {};
  return timeout;
}

// The engine has failed what was on its way.
void Job::session_ends() {
  running_ = false;
  const py::gil_scoped_release unlocked;
  completions_->stop();
  const Lock lock(mutex_);
  left_.clear();
}

}  // namespace ronde::python::c10d_backend
