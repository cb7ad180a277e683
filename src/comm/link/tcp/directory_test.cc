#include "ronde/comm/link/tcp/directory.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::comm::detail {
namespace {

Address address(const char* text) {
  return parse_address(text).value();
}

Directory three_ranks() {
  Directory job;
  job.add({.host = "b1",
           .node = "n1",
           .machine = "m1",
           .pid = 7,
           .endpoint = {.addresses = {address("10.0.0.1/24")}, .port = 11}});
  job.add({.host = "b2",
           .node = "n2",
           .machine = "m2",
           .pid = 8,
           .endpoint = {.addresses = {address("127.0.0.1/8"), address("10.0.0.2/24")}, .port = 12}});
  job.add({.host = "b1",
           .node = "n1",
           .machine = "m1",
           .pid = 9,
           .endpoint = {.addresses = {address("10.0.0.1/24")}, .port = 13}});
  job.finish();
  return job;
}

TEST(Directory, KnowsWhoIsWhere) {
  const Directory job = three_ranks();
  EXPECT_EQ(job.size(), 3);
  EXPECT_EQ(job.nodes(), 2);
  EXPECT_EQ(job.node_of(), (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(job.name(1), "rank 1 on b2 (pid 8)");
  EXPECT_EQ(job.pid(2), 9);
  EXPECT_FALSE(job.one_machine());
}

TEST(Directory, GivesAddressesInTheOrderToTry) {
  const Directory job = three_ranks();
  EXPECT_EQ(job.endpoint(0, 1).port, 12);
  EXPECT_EQ(job.endpoint(0, 1).addresses, (std::vector<Address>{address("10.0.0.2/24")}))
      << "no loopback between machines";
  EXPECT_EQ(job.endpoint(0, 2).port, 13);
  EXPECT_EQ(job.endpoint(0, 2).addresses, (std::vector<Address>{address("10.0.0.1/24")})) << "on one machine";
}

TEST(Directory, TakesNoRankWhenItIsFinished) {
  Directory job = three_ranks();
  EXPECT_THROW(job.add({}), Error);
  EXPECT_THROW(job.pid(3), std::out_of_range);
}

}  // namespace
}  // namespace ronde::comm::detail
