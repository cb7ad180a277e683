#include "ronde/comm/link/shm/shm_collectives.h"

#include <cstring>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/comm/link/testing/test_ranks.h"

namespace ronde::comm::detail {
namespace {

using Ints = std::vector<std::int32_t>;

// Different for every (from, to, place).
Ints message(int from, int to, std::size_t count) {
  Ints data(count);
  std::iota(data.begin(), data.end(), from * 1'000'000 + to * 100'000);
  return data;
}
Bytes bytes_of(Ints& data) {
  return std::as_writable_bytes(std::span(data));
}
ConstBytes bytes_of(const Ints& data) {
  return std::as_bytes(std::span(data));
}

class Collectives : public testing::TestWithParam<std::tuple<int, std::size_t>> {
 protected:
  int ranks() const { return std::get<0>(GetParam()); }
  std::size_t count() const { return std::get<1>(GetParam()); }
};

TEST_P(Collectives, BroadcastFromEveryRoot) {
  run_ranks(ranks(), [&](TestRank& rank) {
    for (int root = 0; root < ranks(); ++root) {
      Ints data = message(rank.channel.rank(), 0, count());
      rank.run(shm_broadcast(rank.channel, bytes_of(data), root));
      ASSERT_EQ(data, message(root, 0, count()));
    }
  });
}

TEST_P(Collectives, AllgatherOfDifferentSizes) {
  run_ranks(ranks(), [&](TestRank& rank) {
    const auto size_of_rank = [&](int r) { return count() * static_cast<std::size_t>(r); };  // rank 0 has nothing
    std::vector<Ints> got;
    std::vector<Bytes> out;
    for (int r = 0; r < ranks(); ++r) got.emplace_back(size_of_rank(r));
    for (Ints& theirs : got) out.push_back(bytes_of(theirs));
    const Ints mine = message(rank.channel.rank(), 1, size_of_rank(rank.channel.rank()));
    rank.run(shm_allgather(rank.channel, bytes_of(mine), out));
    for (int r = 0; r < ranks(); ++r) ASSERT_EQ(got[static_cast<std::size_t>(r)], message(r, 1, size_of_rank(r)));
  });
}

TEST_P(Collectives, AlltoallOfDifferentSizes) {
  run_ranks(ranks(), [&](TestRank& rank) {
    const int me = rank.channel.rank();
    const auto size_of_lane = [&](int from, int to) { return count() * static_cast<std::size_t>((from + 2 * to) % 3); };
    std::vector<Ints> given, got;
    std::vector<ConstBytes> send;
    std::vector<Bytes> out;
    for (int r = 0; r < ranks(); ++r) {
      given.push_back(message(me, r, size_of_lane(me, r)));
      got.emplace_back(size_of_lane(r, me));
    }
    for (int r = 0; r < ranks(); ++r) {
      send.push_back(bytes_of(std::as_const(given[static_cast<std::size_t>(r)])));
      out.push_back(bytes_of(got[static_cast<std::size_t>(r)]));
    }
    for (int repetition = 0; repetition < 3; ++repetition) {
      rank.run(shm_alltoall(rank.channel, send, out));
      for (int r = 0; r < ranks(); ++r)
        ASSERT_EQ(got[static_cast<std::size_t>(r)], message(r, me, size_of_lane(r, me)));
    }
  });
}

TEST_P(Collectives, ReduceScatterAndReduceInPlace) {
  run_ranks(ranks(), [&](TestRank& rank) {
    const int me = rank.channel.rank();
    std::vector<Ints> given;
    std::vector<ConstBytes> send;
    for (int r = 0; r < ranks(); ++r) given.push_back(message(me, r, count() + static_cast<std::size_t>(r)));
    for (const Ints& lane : given) send.push_back(bytes_of(lane));
    const auto expected = [&](int to, std::size_t size) {
      Ints sum(size);
      for (int r = 0; r < ranks(); ++r) {
        const Ints theirs = message(r, to, size);
        for (std::size_t i = 0; i < size; ++i) sum[i] += theirs[i];
      }
      return sum;
    };
    Ints& mine = given[static_cast<std::size_t>(me)];
    rank.run(shm_reduce_scatter(rank.channel, send, bytes_of(mine), {.dtype = DType::I32}));
    ASSERT_EQ(mine, expected(me, count() + static_cast<std::size_t>(me)));

    for (int root = 0; root < ranks(); ++root) {
      Ints data = message(me, 9, count());
      rank.run(shm_reduce(rank.channel, bytes_of(std::as_const(data)), me == root ? bytes_of(data) : Bytes(), root,
                          {.dtype = DType::I32}));
      ASSERT_EQ(data, me == root ? expected(9, count()) : message(me, 9, count()));
    }
  });
}

TEST_P(Collectives, FollowOneAnotherInAnyOrder) {
  run_ranks(ranks(), [&](TestRank& rank) {
    for (int i = 0; i < 10; ++i) {
      Ints data = message(rank.channel.rank(), 0, count());
      if (i % 2) rank.run(shm_broadcast(rank.channel, bytes_of(data), 0));
      rank.run(shm_barrier(rank.channel));
      rank.run(shm_allreduce(rank.channel, Segments(bytes_of(data)), {.dtype = DType::I32, .op = ReduceOp::Max}));
      ASSERT_EQ(data, message(i % 2 ? 0 : ranks() - 1, 0, count()));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, Collectives,
                         testing::Combine(testing::Values(1, 2, 3, 4, 8),
                                          testing::Values<std::size_t>(0, 1, 1000, 150'000)));

}  // namespace
}  // namespace ronde::comm::detail
