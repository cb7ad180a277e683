#include "ronde/comm/bench/link_bench.h"

#include <chrono>
#include <numeric>
#include <string>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/comm/link/make_link.h"
#include "ronde/comm/link/patience.h"
#include "ronde/comm/mpi/mpi_owner.h"

namespace ronde::comm {
namespace {

constexpr std::size_t kArenaBytes = std::size_t{16} << 30;  // reserved, not used

std::vector<std::size_t> areas_of_all(Bootstrap& bootstrap, detail::Node& node, Deadline until) {
  const std::byte* mine = node.arena().allocate_zeroed(sizeof(detail::GroupArea));
  std::vector<std::size_t> areas;
  for (const std::string& area : bootstrap.exchange(std::to_string(mine - node.base(node.rank())), until))
    areas.push_back(std::stoull(area));
  return areas;
}

std::vector<int> first(int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

struct BareLink::Impl {
  Impl(Bootstrap& bootstrap, const Options& options, Deadline until)
      : neighbours(detail::meet_neighbours(bootstrap,
                                           {.arena_bytes = kArenaBytes,
                                            .pretend_nodes = options.pretend_nodes,
                                            .interfaces = options.interfaces,
                                            .tcp_only = options.tcp_only},
                                           until)),
        link(detail::make_link(neighbours, bootstrap.rank(),
                               {.ranks = first(bootstrap.size()),
                                .areas = areas_of_all(bootstrap, *neighbours.node, until),
                                .tuning = {.algorithm = detail::between_by_name(options.algorithm)}})),
        patience(detail::Patience::for_ranks(static_cast<int>(neighbours.ranks.size()), neighbours.cpus,
                                             !neighbours.mesh)) {}

  void pump() const {
    if (neighbours.mesh) neighbours.mesh->pump();
    if (neighbours.data) neighbours.data->pump();
  }

  detail::Neighbours neighbours;
  std::unique_ptr<detail::Link> link;
  detail::Patience patience;
};

BareLink::BareLink(Bootstrap& bootstrap, const Options& options, Deadline until)
    : impl_(std::make_unique<Impl>(bootstrap, options, until)) {}
BareLink::~BareLink() = default;

std::byte* BareLink::allocate(std::size_t bytes) {
  return impl_->neighbours.node->arena().allocate(bytes);
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
    if (impl_->patience.wait(ready)) continue;
    impl_->neighbours.node->sleep(ready, impl_->neighbours.mesh ? Deadline::after(kNap) : Deadline());
  }
}

void mpi_allreduce(float* values, std::size_t count) {
  detail::MpiOwner& owner = detail::MpiOwner::get(Environment::of_process());
  owner.check(owner.mpi().allreduce_floats(values, static_cast<int>(count)), "MPI_Allreduce");
}

}  // namespace ronde::comm
