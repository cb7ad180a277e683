#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/comm/interruptible.h"
#include "ronde/comm/testing/pending.h"
#include "ronde/comm/testing/ranks.h"
#include "ronde/comm/testing/requests.h"

// What is wrong by itself is an error at the call.
namespace ronde::comm {
namespace {

using tests::every_call;
using tests::expect_none;
using tests::run_calls;
using tests::run_watched;

// The error must be of this kind and say all of this.
void expect_error(const std::function<void()>& action, Error::Kind kind, const std::vector<std::string>& words) {
  try {
    action();
    ADD_FAILURE() << "no error where one should say: " << fmt::format("{}", fmt::join(words, ", "));
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(name(error.kind()), name(kind)) << text;
    for (const std::string& word : words)
      EXPECT_NE(text.find(word), std::string::npos) << word << " is not in: " << text;
  }
}

void expect_usable(Engine& engine) {
  for (const Operation operation : {Operation::Allreduce, Operation::Alltoall})
    expect_none(run_calls(engine, engine.world(), every_call(operation, DType::F32, engine.size()), {.seed = 9}));
}

// Calls body on two ranks, and expects both to work on afterwards.
void on_two_ranks(const std::function<void(Engine&)>& body) {
  run_watched(2, [&](Engine& engine) {
    body(engine);
    engine.world().barrier().wait();
    expect_usable(engine);
  });
}

// A request that is refused on every rank, with the words that the error must have.
void expect_refused(const std::function<Request(std::vector<float>&)>& make, const std::vector<std::string>& words) {
  on_two_ranks([&](Engine& engine) {
    std::vector<float> values(12, 1.0f);
    expect_error([&] { engine.world().submit(make(values)); }, Error::Kind::BadInput, words);
    // Nothing of a group of requests is taken when one of them is wrong.
    std::vector<float> good(3, 1.0f);
    std::vector<Request> both{{.name = "good", .input = buffer_of(good)}, make(values)};
    expect_error([&] { engine.world().submit(both); }, Error::Kind::BadInput, words);
    engine.world().allreduce("good", buffer_of(good)).wait();
    EXPECT_EQ(good, std::vector<float>(3, 2.0f)) << "the name was free, and nothing had been added";
  });
}

TEST(EngineErrors, ANameThatIsOnItsWay) {
  on_two_ranks([](Engine& engine) {
    std::vector<float> first(4, 1.0f), second(4, 1.0f);
    Handle handle;
    if (engine.rank() == 0) {
      handle = engine.world().allreduce("weight", buffer_of(first));
      expect_error([&] { engine.world().allreduce("weight", buffer_of(second)); }, Error::Kind::BadInput, {"weight"});
      const Request again{.name = "weight", .input = buffer_of(second)};
      const Request new_one{.name = "other", .input = buffer_of(second)};
      expect_error([&] { engine.world().submit(std::vector{new_one, again}); }, Error::Kind::BadInput, {"weight"});
      expect_error([&] { engine.world().submit(std::vector{new_one, new_one}); }, Error::Kind::BadInput, {"other"});
    }
    engine.world().barrier().wait();
    if (engine.rank() == 1) handle = engine.world().allreduce("weight", buffer_of(first));
    handle.wait();
    EXPECT_EQ(first, std::vector<float>(4, 2.0f));
    engine.world().allreduce("weight", buffer_of(first)).wait();  // free again
    EXPECT_EQ(first, std::vector<float>(4, 4.0f));
  });
}

TEST(EngineErrors, StridesThatAreNotContiguous) {
  const auto with_strides = [](std::vector<std::int64_t> strides) {
    return [strides](std::vector<float>& values) {
      return Request{.name = "holes", .input = {.data = values.data(), .shape = {3, 2}, .strides = strides}};
    };
  };
  for (const auto& strides : std::vector<std::vector<std::int64_t>>{{4, 1}, {2, 2}, {1, 3}, {0, 1}, {2}, {2, 1, 1}})
    expect_refused(with_strides(strides), {"holes", "contiguous"});
  on_two_ranks([](Engine& engine) {  // these say nothing new
    std::vector<float> values(6, 1.0f);
    engine.world().allreduce("fine", {.data = values.data(), .shape = {3, 2}, .strides = {2, 1}}).wait();
    engine.world().allreduce("a row", {.data = values.data(), .shape = {1, 6}, .strides = {100, 1}}).wait();
    EXPECT_EQ(values, std::vector<float>(6, 4.0f));
  });
}

TEST(EngineErrors, AnOutputThatIsNotContiguousEither) {
  expect_refused(
      [](std::vector<float>& values) {
        const Buffer output{.data = values.data() + 6, .shape = {3, 2}, .strides = {1, 3}};
        return Request{.name = "turned", .input = {.data = values.data(), .shape = {3, 2}}, .output = output};
      },
      {"turned", "contiguous"});
}

TEST(EngineErrors, SplitsThatCannotBe) {
  const auto with_splits = [](Operation operation, std::vector<std::int64_t> splits, std::int64_t rows = 12) {
    return [=](std::vector<float>& values) {
      return Request{
          .operation = operation, .name = "parts", .input = {.data = values.data(), .shape = {rows}}, .splits = splits};
    };
  };
  for (const auto& splits : std::vector<std::vector<std::int64_t>>{{12}, {4, 4, 4}, {5, 6}, {13, -1}, {20, 20}})
    expect_refused(with_splits(Operation::Alltoall, splits), {"parts", "split"});
  expect_refused(with_splits(Operation::Alltoall, {}, 11), {"parts", "11"});
}

TEST(EngineErrors, SplitsOfAScatterThatCannotBe) {
  on_two_ranks([](Engine& engine) {
    if (engine.rank() != 1) return;
    std::vector<float> values(12, 1.0f), part(6);
    Request request{.operation = Operation::Scatter,
                    .name = "parts",
                    .input = buffer_of(values),
                    .output = buffer_of(part),
                    .root = 1};
    for (const auto& splits : std::vector<std::vector<std::int64_t>>{{12}, {6, 7}, {-6, 18}}) {
      request.splits = splits;
      expect_error([&] { engine.world().submit(request); }, Error::Kind::BadInput, {"parts", "split"});
    }
  });
}

TEST(EngineErrors, ARootThatIsNotThere) {
  for (const Operation operation : {Operation::Reduce, Operation::Gather, Operation::Scatter, Operation::Broadcast,
                                    Operation::Send, Operation::Receive})
    for (const int root : {2, -1})
      expect_refused(
          [&](std::vector<float>& values) {
            Request request{.operation = operation, .name = "rootless", .root = root};
            (operation == Operation::Receive ? request.output : request.input) = buffer_of(values);
            return request;
          },
          {"rootless", fmt::format("{}", root)});
}

TEST(EngineErrors, MemoryOfADevice) {
  expect_refused(
      [](std::vector<float>& values) {
        return Request{.name = "on a GPU", .input = {.data = values.data(), .shape = {12}, .device = 0}};
      },
      {"on a GPU", "GPU 0"});
}

TEST(EngineErrors, NoMemoryAtAll) {
  expect_refused([](std::vector<float>&) { return Request{.name = "nowhere", .input = {.shape = {12}}}; }, {"nowhere"});
}

TEST(EngineErrors, AnOutputThatDoesNotFit) {
  for (const Shape& shape : {Shape{11}, Shape{13}, Shape{3, 4}})
    on_two_ranks([&](Engine& engine) {
      std::vector<float> values(12), other(20);
      const Request request{
          .name = "too small", .input = buffer_of(values), .output = {.data = other.data(), .shape = shape}};
      expect_error([&] { engine.world().submit(request).wait(); }, Error::Kind::BadInput, {"too small"});
    });
}

TEST(EngineErrors, ANameThatIsTooLong) {
  const std::string long_name(std::size_t{1} << 20, 'x');
  expect_refused([&](std::vector<float>& values) { return Request{.name = long_name, .input = buffer_of(values)}; },
                 {"name"});
}

TEST(EngineErrors, AGroupThatWasDropped) {
  on_two_ranks([](Engine& engine) {
    const Group group = engine.make_group({1, 0});
    const Group copy = group;
    expect_none(run_calls(engine, group, every_call(Operation::Allreduce, DType::F32, 2)));
    engine.drop_group(group);
    std::vector<float> values(3, 1.0f);
    expect_error([&] { copy.allreduce("late", buffer_of(values)); }, Error::Kind::BadInput, {"dropped"});
    expect_error([&] { engine.drop_group(copy); }, Error::Kind::BadInput, {"dropped"});
  });
}

TEST(EngineErrors, AGroupWithRequestsOnTheirWayCannotBeDropped) {
  on_two_ranks([](Engine& engine) {
    const Group group = engine.make_group({0, 1});
    std::vector<float> values(3, 1.0f);
    Handle handle;
    if (engine.rank() == 0) {
      handle = group.allreduce("pending", buffer_of(values));
      expect_error([&] { engine.drop_group(group); }, Error::Kind::BadInput, {"drop_group", "rank 0"});
    }
    engine.world().barrier().wait();
    if (engine.rank() == 1) handle = group.allreduce("pending", buffer_of(values));
    handle.wait();
    engine.drop_group(group);
  });
}

TEST(EngineErrors, TheWorldCannotBeDropped) {
  on_two_ranks(
      [](Engine& engine) { expect_error([&] { engine.drop_group(engine.world()); }, Error::Kind::BadInput, {}); });
}

TEST(EngineErrors, NotAMember) {
  on_two_ranks([](Engine& engine) {
    const Group group = engine.make_group({1});
    std::vector<float> values(3, 1.0f);
    if (engine.rank() == 0)
      expect_error([&] { group.allreduce("not mine", buffer_of(values)); }, Error::Kind::BadInput, {"member"});
    engine.drop_group(group);
  });
}

TEST(EngineErrors, RanksOfAGroupThatCannotBe) {
  on_two_ranks([](Engine& engine) {
    for (const auto& ranks : std::vector<std::vector<int>>{{0, 2}, {-1}, {1, 1}, {}})
      expect_error([&] { engine.make_group(ranks); }, Error::Kind::BadInput, {});
  });
}

// However quick the others are: the program has neither waited nor looked.
TEST(EngineErrors, ANameIsTakenUntilTheProgramCouldSeeItsResult) {
  on_two_ranks([](Engine& engine) {
    std::vector<float> first(3, 1.0f), second(3, 1.0f);
    const auto ask = [&](std::vector<float>& values) { return engine.world().allreduce("twice", buffer_of(values)); };
    const auto refused = [&] { expect_error([&] { ask(second); }, Error::Kind::BadInput, {"'twice'", "wait for it"}); };
    ask(first);  // the handle is thrown away
    refused();
    while (engine.statistics().requests == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    refused();  // it is done, but who has not looked cannot know
    engine.set_step(1);
    const Handle handle = ask(second);
    refused();
    handle.wait();
    const Handle polled = ask(first);
    while (!polled.poll()) std::this_thread::yield();
    ask(second);
    engine.world().barrier().wait();
    ask(first).wait();
  });
}

// Those that come together, too.
TEST(EngineErrors, NamesOfAGroupAreTakenUntilTheProgramCouldSeeTheirResults) {
  on_two_ranks([](Engine& engine) {
    const Group world = engine.world();
    std::vector<float> a(3, 1.0f), b(3, 1.0f);
    const auto ask = [&] {
      return world.submit({{.name = "a", .input = buffer_of(a)}, {.name = "b", .input = buffer_of(b)}});
    };
    const auto handles = ask();
    while (engine.statistics().requests < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    expect_error(ask, Error::Kind::BadInput, {"'a'"});
    expect_error([&] { world.allreduce("b", buffer_of(b)); }, Error::Kind::BadInput, {"'b'"});
    handles.back().wait();
    for (const Handle& handle : ask()) handle.wait();
  });
}

TEST(EngineErrors, AWaitCanBeInterrupted) {
  on_two_ranks([](Engine& engine) {
    std::vector<float> values(3, 1.0f);
    struct Interrupted {};
    int checks = 0;
    if (engine.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const Handle handle = engine.world().allreduce("late", buffer_of(values));
    if (engine.rank() == 0) {
      const Interruptible interruptible([&] {
        if (++checks == 2) throw Interrupted();
      });
      EXPECT_THROW(handle.wait(), Interrupted);
    }
    handle.wait();
    EXPECT_EQ(values.front(), 2.0f);
    EXPECT_EQ(checks, engine.rank() == 0 ? 2 : 0);
  });
}

TEST(EngineErrors, SubmittingAfterJoining) {
  on_two_ranks([](Engine& engine) {
    const Group other = engine.make_group({0, 1});
    std::vector<float> values(3, 1.0f);
    Handle joined;
    if (engine.rank() == 0) {
      joined = engine.world().join();
      expect_error([&] { engine.world().allreduce("late", buffer_of(values)); }, Error::Kind::BadInput, {"join"});
      expect_error([&] { engine.world().join(); }, Error::Kind::BadInput, {"join"});
    }
    other.barrier().wait();
    if (engine.rank() == 1) joined = engine.world().join();
    EXPECT_GE(joined.wait().last_joined, 0);
  });
}

TEST(EngineErrors, ShapesThatCannotBe) {
  EXPECT_THROW((Shape{1, -1}), Error);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), Error);
}

TEST(EngineErrors, MoreSharedMemoryThanThereIs) {
  run_watched(1, [](Engine& engine) {
    expect_error([&] { engine.allocate(std::size_t{1} << 40); }, Error::Kind::System, {"1 TiB"});
    EXPECT_NE(engine.allocate(100).data(), nullptr);
  });
}

}  // namespace
}  // namespace ronde::comm
