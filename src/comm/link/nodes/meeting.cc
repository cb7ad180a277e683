#include "ronde/comm/link/nodes/meeting.h"

#include <algorithm>

#include "ronde/base/error.h"
#include "ronde/comm/link/nodes/nodes_notes.h"

namespace ronde::comm::detail {
namespace {

std::string endpoint_text(const Endpoint& endpoint, const std::string& secret) {
  return endpoint.addresses.empty() ? "" : write_endpoint(endpoint, secret);
}

Endpoint endpoint_of(const std::string& text, std::string& secret) {
  if (text.empty()) return {};
  ReceivedEndpoint told = read_endpoint(text);
  if (!told.secret.empty()) secret = std::move(told.secret);
  return std::move(told.endpoint);
}

}  // namespace

std::string write_told(const Told& told) {
  return pack_texts(
      {write_introduction(told.who), endpoint_text(told.here, told.secret), endpoint_text(told.outside, told.secret)});
}

Told read_told(const std::string& blob) {
  std::vector<std::string> texts;
  try {
    texts = unpack_texts(blob);
  } catch (const Error&) {  // it ends within a length
    texts.clear();
  }
  if (texts.size() != 3) throw Error(Error::Kind::System, "a rank sent an invalid introduction");
  Told told{.who = read_introduction(texts[0])};
  told.here = endpoint_of(texts[1], told.secret);
  told.outside = endpoint_of(texts[2], told.secret);
  return told;
}

Everyone read_everyone(const std::vector<std::string>& blobs, int rank, bool any_interface) {
  std::vector<Told> told;
  told.reserve(blobs.size());
  for (const std::string& blob : blobs) told.push_back(read_told(blob));
  const Introduction& mine = told.at(static_cast<std::size_t>(rank)).who;
  const auto here = [&](const Told& one) { return one.who.machine == mine.machine; };
  Everyone everyone{.on_loopback = any_interface && std::ranges::all_of(told, here), .secret = told.front().secret};
  for (std::size_t i = 0; i < told.size(); ++i) {
    Introduction& who = told[i].who;
    if (who.node == mine.node) {
      everyone.ranks.push_back(static_cast<int>(i));
      everyone.addresses.push_back(who.address);
      everyone.cores.push_back({topology::CpuSet::parse(who.cpus), who.quotas});
    }
    everyone.job.add({.host = who.host,
                      .node = who.node,
                      .machine = who.machine,
                      .pid = who.pid,
                      .endpoint = std::move(everyone.on_loopback ? told[i].here : told[i].outside)});
  }
  everyone.job.finish();
  return everyone;
}

}  // namespace ronde::comm::detail
