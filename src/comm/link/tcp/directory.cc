#include "ronde/comm/link/tcp/directory.h"

#include <utility>

#include "ronde/base/error.h"

namespace ronde::comm::detail {

void Directory::add(const Entry& entry) {
  if (finished_) throw Error(Error::Kind::Bug, "a rank was added to a directory that is finished");
  const auto [machine, new_machine] = machine_numbers_.try_emplace(entry.machine, machines_);
  if (new_machine) ++machines_;
  const auto [node, new_node] = node_numbers_.try_emplace(entry.node, static_cast<std::int32_t>(nodes_.size()));
  if (new_node) nodes_.push_back({entry.host, machine->second});
  std::string key;
  for (const Address& address : entry.endpoint.addresses) key += to_text(address) + ' ';
  const auto [list, new_list] = address_numbers_.try_emplace(key, static_cast<std::uint32_t>(addresses_.size()));
  if (new_list) addresses_.push_back(entry.endpoint.addresses);
  ranks_.push_back({.pid = entry.pid, .node = node->second, .addresses = list->second, .port = entry.endpoint.port});
}

void Directory::finish() {
  finished_ = true;
  node_numbers_.clear();
  machine_numbers_.clear();
  address_numbers_.clear();
  ranks_.shrink_to_fit();
  nodes_.shrink_to_fit();
  addresses_.shrink_to_fit();
}

std::string Directory::name(int rank) const {
  return fmt::format("rank {} on {} (pid {})", rank, host(rank), pid(rank));
}

std::vector<int> Directory::node_of() const {
  std::vector<int> node_of;
  node_of.reserve(ranks_.size());
  for (const Rank& rank : ranks_) node_of.push_back(rank.node);
  return node_of;
}

Endpoint Directory::endpoint(int from, int to) const {
  const auto addresses = [this](int rank) -> const std::vector<Address>& { return addresses_[at(rank).addresses]; };
  const bool same_machine = node_at(from).machine == node_at(to).machine;
  return {.addresses = order_addresses(addresses(from), addresses(to), same_machine), .port = at(to).port};
}

}  // namespace ronde::comm::detail
