#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/comm/testing/ranks.h"

// Requests that are submitted together, sends and receives among them.
namespace ronde::comm {
namespace {

using tests::run_watched;
using Values = std::vector<float>;

Request send(std::string name, Values& values, int to) {
  return {.operation = Operation::Send, .name = std::move(name), .input = buffer_of(values), .root = to};
}
Request receive(std::string name, Values& values, int from) {
  return {.operation = Operation::Receive, .name = std::move(name), .output = buffer_of(values), .root = from};
}

std::string refusal_of(const Group& group, std::vector<Request> requests) {
  try {
    group.submit(std::move(requests));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    return error.what();
  }
  ADD_FAILURE() << "it was taken";
  return {};
}

class EngineTogether : public testing::TestWithParam<tests::Place> {};

// One of several is refused: none of the others has been sent, holds a name or has been counted.
TEST_P(EngineTogether, SendsAndReceivesAreAllSubmittedOrNone) {
  run_watched(GetParam(), [](Engine& engine) {
    const Group world = engine.world();
    Values busy(4, 1.0f), wrong(4, -1.0f), right(4, 2.0f), got(4), got_unnamed(4), got_busy(4), sum(4, 1.0f);
    if (engine.rank() == 0) {
      const Handle first = world.send("busy", buffer_of(busy), 1);
      const std::string why =
          refusal_of(world, {send("letter", wrong, 1), send("", wrong, 1), receive("answer", wrong, 2),
                             Request{.name = "sum", .input = buffer_of(wrong)}, send("busy", wrong, 1)});
      EXPECT_NE(why.find("busy"), std::string::npos) << why;
      EXPECT_NE(refusal_of(world, {send("letter", wrong, 1), send("letter", wrong, 1)}).find("letter"),
                std::string::npos);
      EXPECT_NE(refusal_of(world, {send("letter", wrong, 1), send("far", wrong, 99)}).find("99"), std::string::npos);
      world.barrier().wait();
      for (const Handle& handle :
           world.submit({send("letter", right, 1), send("", right, 1), receive("answer", got, 2)}))
        handle.wait();
      first.wait();
      EXPECT_EQ(got, Values(4, 3.0f));
    } else {
      world.barrier().wait();
      Values answer(4, 3.0f);
      if (engine.rank() == 1) {
        for (const Handle& handle :
             world.submit({receive("busy", got_busy, 0), receive("letter", got, 0), receive("", got_unnamed, 0)}))
          handle.wait();
        EXPECT_EQ(got_busy, Values(4, 1.0f));
        EXPECT_EQ(got, Values(4, 2.0f));
        EXPECT_EQ(got_unnamed, Values(4, 2.0f));
      }
      if (engine.rank() == 2) world.submit(send("answer", answer, 0)).wait();
    }
    world.allreduce("sum", buffer_of(sum)).wait();
    EXPECT_EQ(sum, Values(4, static_cast<float>(engine.size())));
  });
}

// What all members do together is one unit, also on those that send and receive along with it.
TEST_P(EngineTogether, SendsGoAlongWithWhatAllMembersDo) {
  run_watched(GetParam(), [](Engine& engine) {
    for (int repetition = 0; repetition < 3; ++repetition) {
      Values first(4, 1.0f), second(4, 2.0f), letter(4, 7.0f), got(4);
      std::vector<Request> requests = {{.name = "first", .input = buffer_of(first)}};
      if (engine.rank() == 0) requests.push_back(send("letter", letter, 1));
      if (engine.rank() == 1) requests.insert(requests.begin(), receive("letter", got, 0));
      requests.push_back({.name = "second", .input = buffer_of(second)});
      const std::size_t of_first = engine.rank() == 1 ? 1 : 0;
      const std::vector<Handle> handles = engine.world().submit(std::move(requests));
      for (const Handle& handle : handles) handle.wait();
      const auto size = static_cast<float>(engine.size());
      EXPECT_EQ(first, Values(4, size));
      EXPECT_EQ(second, Values(4, 2 * size));
      EXPECT_EQ(handles[of_first].wait().output.data, first.data()) << "handles in the order of the requests";
      EXPECT_EQ(handles.back().wait().output.data, second.data());
      EXPECT_EQ(got, engine.rank() == 1 ? letter : Values(4));
    }
    engine.world().barrier().wait();
  });
}

INSTANTIATE_TEST_SUITE_P(All, EngineTogether, testing::Values(tests::Place{3}, tests::Place{3, 2}, tests::Place{4, 2}),
                         tests::place_name);

}  // namespace
}  // namespace ronde::comm
