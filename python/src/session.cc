#include <algorithm>

#include <pybind11/stl.h>

#include "parts.h"
#include "ronde/base/settings/environment.h"
#include "ronde/base/text/format.h"
#include "ronde/comm/mpi_bootstrap.h"
#include "ronde/comm/socket_bootstrap.h"
#include "ronde/device/device.h"
#include "ronde/launch/horovod/horovod_variables.h"
#include "ronde/parallel/arena.h"
#include "state.h"
#include "unlocked.h"

namespace ronde::python {

// Never destroyed: Python ends before static objects do, and forked children have no engine to end.
State& State::of_process() {
  static State* const state = new State;
  return *state;
}

Session& State::session() const {
  if (!session_) throw Error::bad_input("ronde has not been initialized: call init() first");
  return *session_;
}

void State::start(const Settings& settings, std::unique_ptr<comm::Bootstrap> bootstrap) {
  if (session_) return;
  {
    py::gil_scoped_release unlocked;
    if (settings.get<"memory.arena">()) parallel::install_arena(parallel::arena_options(settings));
    session_ =
        bootstrap ? std::make_unique<Session>(settings, std::move(bootstrap)) : std::make_unique<Session>(settings);
  }
  groups_.clear();
  groups_.emplace(0, session_->world());
  next_group_ = 1;
}

void State::stop(const std::string& why) {
  if (!session_) return;
  {
    py::gil_scoped_release unlocked;
    why.empty() ? session_->engine().shutdown() : session_->fail(why);
  }
  for (SessionUser* const user : users_) user->session_ends();
  users_.clear();
  pending_.clear();
  groups_.clear();
  std::unique_ptr<Session> ending = std::move(session_);
  py::gil_scoped_release unlocked;
  ending.reset();
}

int State::add_group(const std::vector<int>& ranks) {
  comm::Engine& engine = session().engine();
  std::optional<comm::Group> made;
  {
    const Unlocked unlocked;
    made = engine.make_group(ranks);
  }
  groups_.emplace(next_group_, *made);
  return next_group_++;
}

bool State::drop_group(int number) {
  const auto found = groups_.find(number);
  if (number == 0 || found == groups_.end()) return false;
  comm::Engine& engine = session().engine();
  const comm::Group group = found->second;
  {
    const Unlocked unlocked;
    engine.drop_group(group);
  }
  groups_.erase(number);
  return true;
}

const comm::Group& State::group(int number) const {
  session();  // says that there is none, if so
  const auto found = groups_.find(number);
  if (found == groups_.end()) throw Error::bad_input("process set {} does not exist or was removed", number);
  return found->second;
}

std::map<int, std::vector<int>> State::groups() const {
  std::map<int, std::vector<int>> all;
  for (const auto& [number, group] : groups_) all.emplace(number, group.ranks());
  return all;
}

namespace {

State& state() {
  return State::of_process();
}

comm::Engine& engine() {
  return state().session().engine();
}

std::vector<int> ranks_by_node() {
  const comm::Engine& all = engine();
  std::vector<int> ranks_of(static_cast<std::size_t>(all.nodes()), 0);
  for (int rank = 0; rank < all.size(); ++rank) ++ranks_of[static_cast<std::size_t>(all.node_of(rank))];
  return ranks_of;
}

// Nodes that have a rank with this one's local number, and which of them this is.
std::pair<int, int> across_nodes() {
  const comm::Engine& all = engine();
  const auto ranks_of = ranks_by_node();
  int place = 0, count = 0;
  for (int node = 0; node < all.nodes(); ++node) {
    if (ranks_of[static_cast<std::size_t>(node)] <= all.local_rank()) continue;
    if (node < all.node()) ++place;
    ++count;
  }
  return {place, count};
}

bool is_homogeneous() {
  const auto ranks_of = ranks_by_node();
  return std::ranges::all_of(ranks_of, [&](int ranks) { return ranks == ranks_of[0]; });
}

// How a job's ranks have met decides what scripts take for MPI's and for Gloo's way.
bool met_by_mpi() {
  return state().running() && state().session().engine().size() > 1 &&
         comm::runs_under_mpi(Environment::of_process()) && !Environment::of_process().get(comm::kBootstrapVariable);
}

// Ranks that meet by a function of Python's: everyone's bytes for one's own.
class PythonBootstrap : public comm::Bootstrap {
 public:
  PythonBootstrap(int rank, int size, py::function exchange)
      : rank_(rank), size_(size), exchange_(std::move(exchange)) {}
  ~PythonBootstrap() override {
    py::gil_scoped_acquire lock;
    exchange_ = {};
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::vector<std::string> exchange(const std::string& mine, Deadline) override {
    py::gil_scoped_acquire lock;
    std::vector<std::string> all;
    try {
      for (const py::handle one : exchange_(py::bytes(mine))) all.push_back(one.cast<py::bytes>());
    } catch (const py::error_already_set& error) {
      throw Error(Error::Kind::System,
                  fmt::format("rank {} of {} cannot connect to the others: {}", rank_, size_, error.what()));
    }
    return all;
  }

 private:
  const int rank_, size_;
  py::function exchange_;
};

using Meeting = std::tuple<int, int, py::function>;

std::unique_ptr<comm::Bootstrap> bootstrap_of(const std::optional<Meeting>& meeting) {
  if (!meeting) return nullptr;
  const auto& [rank, size, exchange] = *meeting;
  return std::make_unique<PythonBootstrap>(rank, size, exchange);
}

Settings settings_from(const std::map<std::string, std::string>& given) {
  std::vector<Settings::Flag> flags = launch::horovod_settings(Environment::of_process()).settings;
  for (const auto& [key, text] : given) flags.push_back({.key = key, .text = text, .origin = "init(" + key + ")"});
  return Settings::load(Environment::of_process(), flags);
}

}  // namespace

void add_session(py::module_& module) {
  module.def(
      "start",
      [](const std::map<std::string, std::string>& settings, const std::optional<Meeting>& meeting) {
        state().start(settings_from(settings), bootstrap_of(meeting));
      },
      py::arg("settings"), py::arg("meeting") = std::nullopt);
  module.def("stop", [](const std::string& why) { state().stop(why); });
  module.def("running", [] { return state().running(); });
  module.def("rank", [] { return engine().rank(); });
  module.def("size", [] { return engine().size(); });
  module.def("local_rank", [] { return engine().local_rank(); });
  module.def("local_size", [] { return engine().local_size(); });
  module.def("cross_rank", [] { return across_nodes().first; });
  module.def("cross_size", [] { return across_nodes().second; });
  module.def("is_homogeneous", &is_homogeneous);
  module.def("mpi_built", [] { return RONDE_MPI_BUILT != 0; });
  module.def("mpi_enabled", &met_by_mpi);
  module.def("cuda_built", [] { return !device::runtime_version().empty(); });
  module.def("add_group", [](const std::vector<int>& ranks) { return state().add_group(ranks); });
  module.def("drop_group", [](int number) { return state().drop_group(number); });
  module.def("groups", [] { return state().groups(); });
  module.def("group_rank", [](int number) { return state().group(number).rank(); });
  module.def("group_size", [](int number) { return state().group(number).size(); });
}

}  // namespace ronde::python
