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
  detail::raise_descriptor_limit();
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

int Group::rank() const {
  return core_->rank();
}
int Group::size() const {
  return core_->size();
}
const std::vector<int>& Group::ranks() const {
  return core_->ranks();
}

Handle Group::submit(Request request) const {
  std::vector<Request> one;
  one.push_back(std::move(request));
  return submit(std::move(one)).front();
}

Result Group::run(Request request) const {
  std::vector<Request> one;
  one.push_back(std::move(request));
  const Handle handle(engine_->submit(core_, std::move(one), /*waits_at_once=*/true).front());
  return handle.wait();
}

std::string Group::why_not_nccl() const {
  return engine_->why_not_nccl(*core_);
}

void Group::reserve_in_stream(const std::vector<InStream>& all) const {
  engine_->reserve_in_stream(*core_, all);
}

void Group::launched_in_stream(const device::Stream& stream) const {
  engine_->launched_in_stream(*core_, stream);
}

void Group::allreduce_in_stream(const InStream& what, const device::Event& made, device::Event& done) const {
  engine_->allreduce_in_stream(*core_, what, made, done);
}

std::vector<Handle> Group::submit(std::vector<Request> requests) const {
  std::vector<Handle> handles;
  for (auto& ticket : engine_->submit(core_, std::move(requests))) handles.push_back(Handle(std::move(ticket)));
  return handles;
}

namespace {

// Until then the request is the engine's to change.
void wait_on_host(const std::shared_ptr<detail::Ticket>& ticket) {
  if (!ticket) throw Error::bad_input("wait: this handle is empty");
  detail::EngineCore::wait(ticket);
  if (ticket->error) throw *ticket->error;
}

const Result& result_in(CUstream_st* stream, const detail::Ticket& ticket) {
  if (const auto& done = ticket.done_on_gpu) device::Stream::borrow(done->device(), stream).wait(*done);
  return ticket.result;
}

}  // namespace

const Result& Handle::wait() const {
  wait_on_host(ticket_);
  return result_in(ticket_->request.stream, *ticket_);
}

const Result& Handle::wait(CUstream_st* stream) const {
  wait_on_host(ticket_);
  return result_in(stream, *ticket_);
}

bool Handle::poll() const {
  if (!ticket_) throw Error::bad_input("poll: this handle is empty");
  return detail::EngineCore::poll(ticket_);
}

}  // namespace ronde::comm
