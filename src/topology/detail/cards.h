#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "ronde/topology/machine.h"

// What we know about PCI devices and what the kernel says about their state.
namespace ronde::topology::detail {

// The numbers of a PCI function that tell what it is.
struct PciId {
  unsigned device_class = 0;  // 0x0302: display, 3D controller
  unsigned vendor = 0;
  unsigned device = 0;
};

// True for what computes; false for the small display chip on a server's board and the one inside a CPU.
bool is_compute_gpu(const PciId& id);
std::string fallback_gpu_name(const PciId& id);  // "NVIDIA GPU 2335", where nobody knows its name

// `address` as the kernel prints it: InfiniBand's has 20 bytes, Ethernet's 6.
NetworkCard::Kind kind_of_card(std::string_view name, unsigned device_class, std::string_view address);

std::optional<double> parse_gbit(std::string_view rate);  // "400 Gb/sec (4X NDR)"

// Fills in state and speed; reads below `root` what lies below / on a real machine.
void read_card_state(const std::filesystem::path& root, NetworkCard& card);
// What NVIDIA's driver says about a GPU: `key` is "Model" or "GPU UUID". Absent without that driver.
std::optional<std::string> read_gpu_fact(const std::filesystem::path& root, const std::string& bus_id,
                                         std::string_view key);

}  // namespace ronde::topology::detail
