#include "ronde/comm/engine.h"

#include <exception>

#include "ronde/base/settings/environment.h"
#include "ronde/base/settings/settings.h"
#include "ronde/comm/engine/engine_core.h"
#include "ronde/comm/socket_bootstrap.h"
#include "ronde/comm/support/descriptor_limit.h"

namespace ronde::comm {

EngineOptions engine_options(const Settings& settings) {
  EngineOptions options;
  options.fusion_bytes = settings.get<"comm.fusion_bytes">();
  options.first_bucket_bytes = settings.get<"comm.first_bucket_bytes">();
  options.arena_bytes = settings.get<"comm.arena_bytes">();
  options.start_timeout = settings.get<"comm.start_timeout">();
  options.stall_warn = settings.get<"comm.stall_warn">();
  options.stall_abort = settings.get<"comm.stall_abort">();
  options.deterministic = settings.get<"comm.deterministic">();
  options.pretend_nodes = static_cast<int>(settings.get<"topology.pretend_nodes">());
  options.interfaces = settings.get<"comm.interface">();
  options.peer_timeout = settings.get<"comm.peer_timeout">();
  options.tcp_only = settings.get<"comm.between">() == "tcp";
  options.static_plan = settings.get<"comm.static">();
  options.autotune = settings.get<"comm.autotune">();
  options.autotune_file = settings.get<"comm.autotune_file">();
  return options;
}

namespace {

std::unique_ptr<detail::EngineCore> meet(std::unique_ptr<Bootstrap> bootstrap, EngineOptions options,
                                         detail::EngineHooks hooks) {
  if (options.engine_cpus.empty())
    options.engine_cpus = Environment::of_process().get(kEngineCpusVariable).value_or("");
  support::raise_descriptor_limit();
  const int rank = bootstrap->rank();
  detail::Peers peers =
      detail::connect_peers(*bootstrap,
                            {.arena_bytes = options.arena_bytes,
                             .pretend_nodes = options.pretend_nodes,
                             .interfaces = options.interfaces,
                             .peer_timeout = std::chrono::ceil<std::chrono::seconds>(options.peer_timeout),
                             .log = options.log,
                             .tcp_only = options.tcp_only},
                            Deadline::after(options.start_timeout));
  return std::make_unique<detail::EngineCore>(std::move(bootstrap), std::move(peers), rank, std::move(options),
                                              std::move(hooks));
}

}  // namespace

Engine::Engine(std::unique_ptr<Bootstrap> bootstrap, EngineOptions options)
    : core_(meet(std::move(bootstrap), std::move(options), {})) {}

Engine::Engine(std::unique_ptr<detail::EngineCore> core) : core_(std::move(core)) {}

std::unique_ptr<Engine> detail::EngineCore::engine_of(std::unique_ptr<EngineCore> core) {
  return std::unique_ptr<Engine>(new Engine(std::move(core)));
}

std::unique_ptr<Engine> detail::make_engine(std::unique_ptr<Bootstrap> bootstrap, EngineOptions options,
                                            EngineHooks hooks) {
  return EngineCore::engine_of(meet(std::move(bootstrap), std::move(options), std::move(hooks)));
}

// A forked child has a copy of the engine without its threads: it can only be left as it is.
Engine::~Engine() {
  if (core_->in_forked_child()) {
    (void)core_.release();
    return;
  }
  core_->shutdown(std::uncaught_exceptions() > 0 ? "an exception ended its program" : "");
}

int Engine::rank() const {
  return core_->rank();
}
int Engine::size() const {
  return core_->world()->size();
}
int Engine::local_rank() const {
  return core_->local_rank();
}
int Engine::local_size() const {
  return core_->local_size();
}

int Engine::node() const {
  return core_->node_of(core_->rank());
}
int Engine::node_of(int rank) const {
  return core_->node_of(rank);
}
int Engine::nodes() const {
  return core_->nodes();
}

Group Engine::world() const {
  return {*core_, core_->world()};
}
Group Engine::make_group(std::vector<int> ranks) {
  return {*core_, core_->make_group(std::move(ranks))};
}
void Engine::drop_group(const Group& group) {
  core_->drop_group(group.core_);
}
Group Engine::make_group_among(std::vector<int> ranks, std::uint32_t number, Bootstrap& members) {
  return {*core_, core_->make_group_among(std::move(ranks), number, members)};
}
void Engine::drop_group_among(const Group& group) {
  core_->drop_group_among(group.core_);
}

SharedMemory Engine::allocate(std::size_t bytes) {
  return {core_->allocate(bytes), bytes};
}
void Engine::set_step(std::int64_t step) {
  core_->set_step(step);
}
Statistics Engine::statistics() const {
  return core_->statistics();
}
void Engine::shutdown(const std::string& why) {
  core_->shutdown(why);
}

}  // namespace ronde::comm
