#include "ronde/topology/detail/cards.h"

#include <gtest/gtest.h>

#include "ronde/topology/testing/fake_files.h"

namespace ronde::topology::detail {
namespace {

TEST(Cards, TellWhatComputesFromWhatOnlyShows) {
  EXPECT_TRUE(is_compute_gpu({0x0302, 0x10de, 0x2335}));   // H200
  EXPECT_TRUE(is_compute_gpu({0x0300, 0x10de, 0x2684}));   // RTX 4090
  EXPECT_TRUE(is_compute_gpu({0x1200, 0x1002, 0x74a1}));   // MI300X
  EXPECT_TRUE(is_compute_gpu({0x0380, 0x8086, 0x0bd5}));   // Data Center GPU Max
  EXPECT_FALSE(is_compute_gpu({0x0300, 0x1a03, 0x2000}));  // the chip on a server's board
  EXPECT_FALSE(is_compute_gpu({0x0300, 0x8086, 0x3e92}));  // inside the CPU
  EXPECT_FALSE(is_compute_gpu({0x0403, 0x10de, 0x10f0}));  // the sound of a graphics card
  EXPECT_EQ(fallback_gpu_name({0x0302, 0x10de, 0x2335}), "NVIDIA GPU 2335");
}

TEST(Cards, TellNetworksApart) {
  const std::string ethernet = "00:11:22:33:44:55";
  const std::string infiniband(59, ':');
  EXPECT_EQ(kind_of_card("eth0", 0x0200, ethernet), NetworkCard::Kind::Ethernet);
  EXPECT_EQ(kind_of_card("mlx5_0", 0x0200, ethernet), NetworkCard::Kind::Ethernet);
  EXPECT_EQ(kind_of_card("mlx5_0", 0x0207, ""), NetworkCard::Kind::InfiniBand);
  EXPECT_EQ(kind_of_card("ib0", 0x0280, infiniband), NetworkCard::Kind::InfiniBand);
  EXPECT_EQ(kind_of_card("hfi1_0", 0x0208, infiniband), NetworkCard::Kind::OmniPath);
  EXPECT_EQ(kind_of_card("cxi0", 0x0200, ethernet), NetworkCard::Kind::Slingshot);
}

TEST(Cards, ReadARateInTheWordsOfTheKernel) {
  EXPECT_EQ(parse_gbit("400 Gb/sec (4X NDR)"), 400.0);
  EXPECT_EQ(parse_gbit("2.5 Gb/sec (1X SDR)"), 2.5);
  EXPECT_EQ(parse_gbit("fast"), std::nullopt);
  EXPECT_EQ(parse_gbit(""), std::nullopt);
}

TEST(Cards, ReadStateAndSpeedWhereTheKernelTells) {
  const FakeFiles files{{"sys/class/net/eth0/operstate", "up\n"},
                        {"sys/class/net/eth0/speed", "25000\n"},
                        {"sys/class/net/eth1/operstate", "down\n"},
                        {"sys/class/net/eth1/speed", "-1\n"},
                        {"sys/class/net/ib0/operstate", "down\n"},
                        {"sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n"},
                        {"sys/class/infiniband/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)\n"}};
  const auto read = [&](const char* name, const char* rdma) {
    NetworkCard card{.name = name, .rdma = rdma, .kind = {}, .bus_id = {}};
    read_card_state(files.root(), card);
    return card;
  };
  EXPECT_TRUE(read("eth0", "").up);
  EXPECT_EQ(read("eth0", "").gbit_per_s, 25.0);
  EXPECT_FALSE(read("eth1", "").up);
  EXPECT_EQ(read("eth1", "").gbit_per_s, std::nullopt);
  EXPECT_TRUE(read("ib0", "mlx5_0").up) << "direct access works without an address for sockets";
  EXPECT_EQ(read("ib0", "mlx5_0").gbit_per_s, 200.0);
  EXPECT_TRUE(read("unknown", "").up);
}

TEST(Cards, TakeAGpusNamesFromItsDriver) {
  const FakeFiles files{
      {"proc/driver/nvidia/gpus/0000:1b:00.0/information",
       "Model: \t\t NVIDIA H200\nIRQ:   \t\t 77\nGPU UUID: \t GPU-8932f937-d72c\nVideo BIOS: \t 96.00\n"}};
  EXPECT_EQ(read_gpu_fact(files.root(), "0000:1b:00.0", "Model"), "NVIDIA H200");
  EXPECT_EQ(read_gpu_fact(files.root(), "0000:1b:00.0", "GPU UUID"), "GPU-8932f937-d72c");
  EXPECT_EQ(read_gpu_fact(files.root(), "0000:1c:00.0", "Model"), std::nullopt);
}

}  // namespace
}  // namespace ronde::topology::detail
