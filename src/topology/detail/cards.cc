#include "ronde/topology/detail/cards.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/topology/detail/files.h"

namespace ronde::topology::detail {
namespace {

constexpr unsigned kAmd = 0x1002;
constexpr unsigned kNvidia = 0x10de;
constexpr unsigned kIntel = 0x8086;

constexpr unsigned kVga = 0x0300;
constexpr unsigned kOtherDisplay = 0x0380;
constexpr unsigned k3dController = 0x0302;
constexpr unsigned kAccelerator = 0x1200;
constexpr unsigned kInfiniBandNetwork = 0x0207;
constexpr unsigned kInfiniBandSerial = 0x0c06;

}  // namespace

bool is_compute_gpu(const PciId& id) {
  const bool maker = id.vendor == kNvidia || id.vendor == kAmd || id.vendor == kIntel;
  const bool headless =
      id.device_class == k3dController || id.device_class == kOtherDisplay || id.device_class == kAccelerator;
  const bool desktop = id.device_class == kVga && id.vendor != kIntel;
  return maker && (headless || desktop);
}

std::string fallback_gpu_name(const PciId& id) {
  const char* maker = id.vendor == kNvidia ? "NVIDIA" : id.vendor == kAmd ? "AMD" : "Intel";
  return fmt::format("{} GPU {:04x}", maker, id.device);
}

NetworkCard::Kind kind_of_card(std::string_view name, unsigned device_class, std::string_view address) {
  constexpr std::size_t kInfiniBandAddress = 20 * 3 - 1;  // two digits a byte and colons between
  if (name.starts_with("hfi1") || name.starts_with("opa")) return NetworkCard::Kind::OmniPath;
  if (name.starts_with("cxi") || name.starts_with("hsn")) return NetworkCard::Kind::Slingshot;
  if (device_class == kInfiniBandNetwork || device_class == kInfiniBandSerial || address.size() == kInfiniBandAddress)
    return NetworkCard::Kind::InfiniBand;
  return NetworkCard::Kind::Ethernet;
}

std::optional<double> parse_gbit(std::string_view rate) {
  double number = 0;
  const auto [end, error] = std::from_chars(rate.data(), rate.data() + rate.size(), number);
  if (error != std::errc{} || number <= 0) return std::nullopt;
  if (!std::string_view(end, rate.data() + rate.size()).starts_with(" Gb/sec")) return std::nullopt;
  return number;
}

void read_card_state(const std::filesystem::path& root, NetworkCard& card) {
  const auto net = root / "sys/class/net" / card.name;
  const auto port = root / "sys/class/infiniband" / card.rdma / "ports/1";
  if (const auto state = card.rdma.empty() ? std::nullopt : read_small_file(port / "state")) {
    card.up = state->starts_with("4");  // "4: ACTIVE"
    card.gbit_per_s = parse_gbit(read_small_file(port / "rate").value_or(""));
    return;
  }
  if (const auto state = read_small_file(net / "operstate")) card.up = *state != "down" && *state != "lowerlayerdown";
  int mbit = 0;
  const std::string speed = read_small_file(net / "speed").value_or("");
  std::from_chars(speed.data(), speed.data() + speed.size(), mbit);
  if (mbit > 0) card.gbit_per_s = mbit / 1000.0;
}

std::optional<std::string> read_gpu_fact(const std::filesystem::path& root, const std::string& bus_id,
                                         std::string_view key) {
  std::istringstream lines(read_small_file(root / "proc/driver/nvidia/gpus" / bus_id / "information").value_or(""));
  const std::string start = fmt::format("{}:", key);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(start) && !trim(line.substr(start.size())).empty())
      return std::string(trim(std::string_view(line).substr(start.size())));
  return std::nullopt;
}

}  // namespace ronde::topology::detail
