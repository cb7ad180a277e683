#include "ronde/comm/link/nodes/meeting.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::comm::detail {
namespace {

Told rank_on(const std::string& host, int pid, const std::string& machine) {
  return {.who = {.host = host,
                  .node = machine + host,
                  .address = "@" + std::to_string(pid),
                  .pid = pid,
                  .cpus = "0-1",
                  .machine = machine},
          .here = {.addresses = {{"127.0.0.1", 8}}, .port = 1},
          .outside = {.addresses = {{"10.0.0.1", 24}}, .port = 2},
          .secret = pid == 7 ? "secret" : ""};
}

TEST(Meeting, WhatIsToldArrives) {
  const Told there = read_told(write_told(rank_on("b1", 7, "m1")));
  EXPECT_EQ(there.who.host, "b1");
  EXPECT_EQ(there.here.port, 1);
  EXPECT_EQ(there.outside.addresses.front().ip, "10.0.0.1");
  EXPECT_EQ(there.secret, "secret");
  Told lonely = rank_on("b1", 8, "m1");
  lonely.outside = {};
  EXPECT_TRUE(read_told(write_told(lonely)).outside.addresses.empty()) << "it cannot listen there";
}

TEST(Meeting, NonsenseIsRefused) {
  for (const char* wrong : {"", "garbage", "12345678garbage"}) EXPECT_THROW(read_told(wrong), Error) << wrong;
}

TEST(Meeting, OnOneMachineRanksMeetOnTheLoopback) {
  const std::vector<std::string> blobs{write_told(rank_on("b1", 7, "m1")), write_told(rank_on("b2", 8, "m1")),
                                       write_told(rank_on("b1", 9, "m1"))};
  const Everyone here = read_everyone(blobs, 2, /*any_interface=*/true);
  EXPECT_TRUE(here.on_loopback);
  EXPECT_EQ(here.secret, "secret");
  EXPECT_EQ(here.ranks, (std::vector<int>{0, 2}));
  EXPECT_EQ(here.addresses, (std::vector<std::string>{"@7", "@9"}));
  EXPECT_EQ(here.job.endpoint(0, 1).port, 1);
  EXPECT_EQ(read_everyone(blobs, 2, /*any_interface=*/false).job.endpoint(0, 1).port, 2) << "comm.interface counts";
}

TEST(Meeting, OnSeveralMachinesTheyMeetOutside) {
  const std::vector<std::string> blobs{write_told(rank_on("b1", 7, "m1")), write_told(rank_on("b2", 8, "m2"))};
  const Everyone here = read_everyone(blobs, 1, /*any_interface=*/true);
  EXPECT_FALSE(here.on_loopback);
  EXPECT_EQ(here.ranks, (std::vector<int>{1}));
  EXPECT_EQ(here.job.endpoint(1, 0).port, 2);
}

}  // namespace
}  // namespace ronde::comm::detail
