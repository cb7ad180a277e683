#include "ronde/comm/bench/link_bench.h"

#include <chrono>
#include <string>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/comm/link/nodes/make_link.h"
#include "ronde/comm/link/spin_policy.h"
#include "ronde/comm/mpi/mpi_owner.h"

namespace ronde::comm {
namespace {

constexpr std::size_t kArenaBytes = std::size_t{16} << 30;  // reserved, not used

std::vector<std::size_t> areas_of_node(Bootstrap& bootstrap, const detail::Peers& peers, Deadline until) {
  detail::Node& node = *peers.node;
  const std::byte* mine = node.arena().allocate_zeroed(detail::link_area_bytes());
  const auto all = bootstrap.exchange(std::to_string(mine - node.base(node.rank())), until);
  std::vector<std::size_t> areas;
  for (const int rank : peers.ranks) areas.push_back(std::stoull(all[static_cast<std::size_t>(rank)]));
  return areas;
}

}  // namespace

struct BareLink::Impl {
  Impl(Bootstrap& bootstrap, const Options& options, Deadline until)
      : peers(detail::connect_peers(bootstrap,
                                    {.arena_bytes = kArenaBytes,
                                     .pretend_nodes = options.pretend_nodes,
                                     .interfaces = options.interfaces,
                                     .tcp_only = options.tcp_only},
                                    until)),
        link(detail::make_link(peers, bootstrap.rank(),
                               {.ranks = peers.all,
                                .areas = areas_of_node(bootstrap, peers, until),
                                .tuning = {.algorithm = detail::inter_node_by_name(options.algorithm)}})),
        spin_policy(detail::SpinPolicy::for_ranks(static_cast<int>(peers.ranks.size()), peers.cpus, !peers.mesh)
                        .in_a_call(static_cast<int>(peers.ranks.size()))) {}

  void pump() const {
    if (peers.mesh) peers.mesh->pump();
    if (peers.data) peers.data->pump();
  }

  detail::Peers peers;
  std::unique_ptr<detail::Link> link;
  detail::SpinPolicy spin_policy;
};

BareLink::BareLink(Bootstrap& bootstrap, const Options& options, Deadline until)
    : impl_(std::make_unique<Impl>(bootstrap, options, until)) {}
BareLink::~BareLink() = default;

std::byte* BareLink::allocate(std::size_t bytes) {
  return impl_->peers.node->arena().allocate(bytes);
}

void BareLink::allreduce(void* data, std::size_t bytes, DType dtype) {
  const detail::Segments whole(std::span(static_cast<std::byte*>(data), bytes));
  detail::Task task = impl_->link->allreduce(whole, {.dtype = dtype, .op = ReduceOp::Sum, .scale = 1.0});
  const auto ready = [&] {
    impl_->pump();
    return task.can_advance();
  };
  // Nobody rings for what comes over the network.
  constexpr std::chrono::microseconds kNap{50};
  while (!task.advance()) {
    if (impl_->spin_policy.wait(ready)) continue;
    impl_->peers.node->sleep(ready, impl_->peers.mesh ? Deadline::after(kNap) : Deadline());
  }
}

void mpi_allreduce(float* values, std::size_t count) {
  detail::MpiOwner& owner = detail::MpiOwner::get(Environment::of_process());
  owner.check(owner.mpi().allreduce_floats(values, static_cast<int>(count)), "MPI_Allreduce");
}

}  // namespace ronde::comm
