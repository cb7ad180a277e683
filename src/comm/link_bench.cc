#include "ronde/comm/link_bench.h"

#include <numeric>
#include <string>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/comm/link/neighbours.h"
#include "ronde/comm/link/patience.h"
#include "ronde/comm/link/shm_allreduce.h"

namespace ronde::comm {
namespace {

constexpr std::size_t kArenaBytes = std::size_t{16} << 30;  // reserved, not used

std::vector<std::size_t> areas_of_all(Bootstrap& bootstrap, detail::Node& node, Deadline until) {
  std::vector<std::size_t> areas;
  for (const std::string& area : bootstrap.exchange(std::to_string(detail::Channel::make_area(node)), until))
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
  Impl(Bootstrap& bootstrap, Deadline until)
      : neighbours(detail::meet_neighbours(bootstrap, kArenaBytes, until)),
        channel(*neighbours.node, first(bootstrap.size()), areas_of_all(bootstrap, *neighbours.node, until)),
        patience(detail::Patience::for_ranks(bootstrap.size(), neighbours.cpus)) {}

  detail::Neighbours neighbours;
  detail::Channel channel;
  detail::Patience patience;
};

BareLink::BareLink(Bootstrap& bootstrap, Deadline until) : impl_(std::make_unique<Impl>(bootstrap, until)) {}
BareLink::~BareLink() = default;

std::byte* BareLink::allocate(std::size_t bytes) {
  return impl_->neighbours.node->arena().allocate(bytes);
}

void BareLink::allreduce(void* data, std::size_t bytes, DType dtype) {
  const detail::Segments whole(std::span(static_cast<std::byte*>(data), bytes));
  detail::Task task = detail::shm_allreduce(impl_->channel, whole, {.dtype = dtype, .op = ReduceOp::Sum, .scale = 1.0});
  const auto ready = [&] { return task.can_advance(); };
  while (!task.advance())
    if (!impl_->patience.wait(ready)) impl_->neighbours.node->sleep(ready);
}

}  // namespace ronde::comm
