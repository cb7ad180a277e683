#include "ronde/comm/link/tcp/introduction.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "ronde/base/error.h"

namespace ronde::comm::detail {

std::string write_introduction(const Introduction& mine) {
  nlohmann::json quotas = nlohmann::json::array();
  for (const topology::CpuQuota& quota : mine.quotas) quotas.push_back({quota.group, quota.cores});
  return nlohmann::json{{"host", mine.host}, {"node", mine.node},       {"address", mine.address}, {"pid", mine.pid},
                        {"cpus", mine.cpus}, {"machine", mine.machine}, {"quotas", quotas}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Introduction read_introduction(const std::string& text) {
  try {
    const auto json = nlohmann::json::parse(text);
    std::vector<topology::CpuQuota> quotas;
    for (const auto& quota : json.at("quotas")) quotas.push_back({quota.at(0), quota.at(1)});
    return {json.at("host"), json.at("node"),    json.at("address"), json.at("pid"),
            json.at("cpus"), json.at("machine"), std::move(quotas)};
  } catch (const nlohmann::json::exception& error) {
    throw Error(Error::Kind::System, fmt::format("a rank sent an invalid introduction: {}", error.what()));
  }
}

Identity identify(const std::string& boot_id, const std::string& network, const std::string& host) {
  // Where there is no boot id, at least hosts of different names are different machines.
  const std::string machine = fmt::format("{} {}", boot_id.empty() ? host : boot_id, network);
  return {.machine = machine, .node = fmt::format("{} {}", machine, host)};
}

}  // namespace ronde::comm::detail
