#include <algorithm>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/comm/testing/pending.h"
#include "ronde/comm/testing/ranks.h"
#include "ronde/comm/testing/requests.h"

// Ranks that ask for different things all hear who asked for what, and go on.
namespace ronde::comm {
namespace {

using tests::every_call;
using tests::expect_none;
using tests::run_calls;
using tests::run_watched;

// One rank asks for something else than the others.
struct Difference {
  std::string what;
  std::function<void(Request&)> common;  // what the request is on every rank,
  std::function<void(Request&)> odd;     // and what the last rank makes of it
  std::vector<std::string> words;        // both sides of it, as the message must have them

  friend void PrintTo(const Difference& difference, std::ostream* out) { *out << difference.what; }
};

void nothing(Request&) {}

std::vector<Difference> differences() {
  const auto broadcast = [](Request& request) { request.operation = Operation::Broadcast; };
  const auto allgather = [](Request& request) { request.operation = Operation::Allgather; };
  return {
      {"Shape", nothing, [](Request& r) { r.input.shape = {2, 6}; }, {"[3, 4]", "[2, 6]"}},
      {"Rows", nothing, [](Request& r) { r.input.shape = {2, 4}; }, {"[3, 4]", "[2, 4]"}},
      {"Dimensions", nothing, [](Request& r) { r.input.shape = {12}; }, {"[3, 4]", "[12]"}},
      {"Type", nothing, [](Request& r) { r.input.dtype = DType::I32; }, {"f32", "i32"}},
      {"Op", nothing, [](Request& r) { r.op = ReduceOp::Max; }, {"sum", "max"}},
      {"Operation", nothing, broadcast, {"allreduce", "broadcast"}},
      {"Root", broadcast, [](Request& r) { r.root = 1; }, {"root 0", "root 1"}},
      {"Compression", nothing, [](Request& r) { r.compression = Compression::BF16; }, {"bf16"}},
      {"Prescale", nothing, [](Request& r) { r.prescale = 0.5; }, {"0.5"}},
      {"Postscale", nothing, [](Request& r) { r.postscale = 0.25; }, {"0.25"}},
      {"ColumnsOfAnAllgather", allgather, [](Request& r) { r.input.shape = {4, 3}; }, {"4", "3"}},
      {"TypeOfAnAllgather", allgather, [](Request& r) { r.input.dtype = DType::I32; }, {"f32", "i32"}},
  };
}

class EngineMismatch : public testing::TestWithParam<std::tuple<Difference, int>> {
 protected:
  const Difference& difference() const { return std::get<0>(GetParam()); }
  int ranks() const { return std::get<1>(GetParam()); }

  Request make(Engine& engine, const std::string& name, std::vector<float>& values) const {
    Request request{.name = name, .input = {.data = values.data(), .shape = {3, 4}}};
    difference().common(request);
    if (engine.rank() == ranks() - 1) difference().odd(request);
    return request;
  }

  // All ranks have said the same, about both sides.
  void check_messages(const std::vector<std::string>& messages, const std::string& name) const {
    for (const std::string& message : messages) EXPECT_EQ(message, messages.front());
    std::vector<std::string> words = difference().words;
    words.push_back(name);
    words.push_back(ranks() == 2 ? "rank 0: " : ranks() == 3 ? "ranks 0 and 1: " : "ranks 0, 1 and 2: ");
    words.push_back(fmt::format("rank {}: ", ranks() - 1));
    for (const std::string& word : words)
      EXPECT_NE(messages.front().find(word), std::string::npos) << word << " is not in: " << messages.front();
  }
};

// What a handle's wait() says; of this kind.
std::string failure_of(const Handle& handle, Error::Kind kind = Error::Kind::Mismatch) {
  try {
    handle.wait();
    return "no error";
  } catch (const Error& error) {
    EXPECT_EQ(name(error.kind()), name(kind)) << error.what();
    return error.what();
  }
}

void expect_usable(Engine& engine) {
  for (const Operation operation : {Operation::Allreduce, Operation::Allgather})
    expect_none(run_calls(engine, engine.world(), every_call(operation, DType::F32, engine.size()), {.seed = 9}));
}

TEST_P(EngineMismatch, EveryRankHearsWhoAskedForWhat) {
  std::vector<std::string> messages(static_cast<std::size_t>(ranks()));
  run_watched(ranks(), [&](Engine& engine) {
    std::vector<float> values(12, 1.0f);
    const Handle handle = engine.world().submit(make(engine, "weight", values));
    std::string& message = messages[static_cast<std::size_t>(engine.rank())];
    message = failure_of(handle);
    EXPECT_EQ(message, failure_of(handle)) << "each time it is asked";
    EXPECT_EQ(values, std::vector<float>(12, 1.0f)) << "nothing was done";
    expect_usable(engine);
  });
  check_messages(messages, "weight");
}

TEST_P(EngineMismatch, AfterItHasGoneWellForALongTime) {
  std::vector<std::string> messages(static_cast<std::size_t>(ranks()));
  run_watched(ranks(), [&](Engine& engine) {
    std::vector<float> values(12, 1.0f);
    for (int step = 0; step < 5; ++step) {
      std::vector<float> other(5, 1.0f);
      Request request = make(engine, "weight", values);
      if (engine.rank() == ranks() - 1) request = {.name = "weight", .input = {.data = values.data(), .shape = {3, 4}}};
      if (engine.rank() == ranks() - 1) difference().common(request);
      const Handle first = engine.world().submit(request);
      const Handle second = engine.world().allreduce("other", buffer_of(other));
      first.wait(), second.wait();
    }
    std::vector<float> other(5, 1.0f);
    const Handle first = engine.world().submit(make(engine, "weight", values));
    const Handle second = engine.world().allreduce("other", buffer_of(other));
    messages[static_cast<std::size_t>(engine.rank())] = failure_of(first);
    second.wait();
    EXPECT_EQ(other, std::vector<float>(5, static_cast<float>(ranks()))) << "its neighbour is not harmed";
    expect_usable(engine);
  });
  check_messages(messages, "weight");
}

TEST_P(EngineMismatch, OneOfAGroupFailsThemAll) {
  run_watched(ranks(), [&](Engine& engine) {
    std::vector<float> before(3, 1.0f), values(12, 1.0f), after(3, 1.0f), free(3, 1.0f);
    const Handle alone = engine.world().allreduce("alone", buffer_of(free));
    const auto handles = engine.world().submit(std::vector<Request>{{.name = "before", .input = buffer_of(before)},
                                                                    make(engine, "weight", values),
                                                                    {.name = "after", .input = buffer_of(after)}});
    ASSERT_EQ(handles.size(), 3u);
    for (const Handle& handle : handles)
      EXPECT_NE(failure_of(handle).find("weight"), std::string::npos) << failure_of(handle);
    EXPECT_EQ(before, std::vector<float>(3, 1.0f));
    EXPECT_EQ(after, std::vector<float>(3, 1.0f));
    alone.wait();
    EXPECT_EQ(free, std::vector<float>(3, static_cast<float>(ranks())));
    expect_usable(engine);
  });
}

TEST_P(EngineMismatch, WithoutAName) {
  std::vector<std::string> messages(static_cast<std::size_t>(ranks()));
  run_watched(ranks(), [&](Engine& engine) {
    std::vector<float> values(12, 1.0f);
    messages[static_cast<std::size_t>(engine.rank())] = failure_of(engine.world().submit(make(engine, "", values)));
    std::vector<float> next(4, 1.0f);
    engine.world().allreduce("", buffer_of(next)).wait();
    EXPECT_EQ(next, std::vector<float>(4, static_cast<float>(ranks()))) << "the next one is in step";
  });
  check_messages(messages, "");
}

std::string difference_name(const testing::TestParamInfo<std::tuple<Difference, int>>& test) {
  return fmt::format("{}_{}Ranks", std::get<0>(test.param).what, std::get<1>(test.param));
}

INSTANTIATE_TEST_SUITE_P(All, EngineMismatch,
                         testing::Combine(testing::ValuesIn(differences()), testing::Values(2, 3, 4)), difference_name);

// Equal shapes, but the values lie in another order: they must not be added up.
TEST(EngineMismatchOf, MemoryOrder) {
  run_watched(3, [](Engine& engine) {
    std::vector<float> values(2 * 3 * 3 * 3, 1.0f);
    const auto tensor = [&](bool channels_last) {
      const Buffer buffer{
          .data = values.data(),
          .shape = {2, 3, 3, 3},
          .strides = channels_last ? std::vector<std::int64_t>{27, 1, 9, 3} : std::vector<std::int64_t>{27, 9, 3, 1}};
      return Request{.name = "weight", .input = buffer, .output = buffer};
    };
    const std::string text = failure_of(engine.world().submit(tensor(engine.rank() == 1)));
    EXPECT_NE(text.find("ranks 0 and 2: allreduce (sum) of f32 [2, 3, 3, 3];"), std::string::npos) << text;
    EXPECT_NE(text.find("rank 1: allreduce (sum) of f32 [2, 3, 3, 3] in memory order 0 2 3 1 (channels last)"),
              std::string::npos)
        << text;
    engine.world().submit(tensor(true)).wait();  // alike on all
    EXPECT_EQ(values, std::vector<float>(54, 3.0f));
  });
}

TEST(EngineMismatchOf, SenderAndReceiver) {
  run_watched(3, [](Engine& engine) {
    std::vector<float> values(6, 1.0f);
    if (engine.rank() == 0) {
      const std::string text = failure_of(engine.world().send("letter", buffer_of(values), 2));
      EXPECT_NE(text.find("letter"), std::string::npos) << text;
    }
    if (engine.rank() == 2) {
      const std::string text = failure_of(engine.world().receive("letter", {.data = values.data(), .shape = {5}}, 0));
      EXPECT_NE(text.find("letter"), std::string::npos) << text;
    }
    expect_usable(engine);
  });
}

TEST(EngineMismatchOf, GroupsThatAreMade) {
  run_watched(3, [](Engine& engine) {
    try {
      engine.make_group(engine.rank() == 2 ? std::vector{0, 2} : std::vector{0, 1});
      ADD_FAILURE() << "there is a group";
    } catch (const Error& error) {
      EXPECT_EQ(name(error.kind()), name(Error::Kind::Mismatch)) << error.what();
    }
    const Group group = engine.make_group({2, 1, 0});
    expect_none(run_calls(engine, group, every_call(Operation::Allreduce, DType::F32, 3)));
  });
}

}  // namespace
}  // namespace ronde::comm
