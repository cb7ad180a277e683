// usage: ops_rank [few]. Every operation between processes, with every type or a few, against the reference. Prints
// "ok 1234 checks".

#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/base/text/format.h"
#include "ronde/comm/testing/pending.h"
#include "ronde/comm/testing/program.h"
#include "ronde/comm/testing/requests.h"

namespace ronde::comm::tests {
namespace {

class Checker {
 public:
  explicit Checker(Engine& engine) : engine_(engine) {}

  void check(const Group& group, const std::vector<Call>& calls, const Order& order) {
    for (const std::string& problem : run_calls(engine_, group, calls, order)) throw std::runtime_error(problem);
    checks_ += calls.size();
  }
  std::size_t checks() const { return checks_; }

 private:
  Engine& engine_;
  std::size_t checks_ = 0;
};

void check_everything(Checker& checker, const Group& group, std::span<const DType> types) {
  for (const Operation operation : kAllOperations)
    for (const DType dtype : types) {
      std::vector<Call> calls = every_call(operation, dtype, group.size());
      checker.check(group, calls, {.seed = 1 + static_cast<std::uint64_t>(dtype)});
      if (operation != Operation::Send) checker.check(group, calls, {.grouped = true});
      for (Call& call : calls) call.name.clear();
      checker.check(group, calls, {});
    }
}

// The same names step after step, so that plans are made, and now and then something else.
void check_steps(Checker& checker, const Group& group) {
  for (std::uint64_t step = 0; step < 10; ++step) {
    std::vector<Call> calls = every_call(Operation::Allreduce, DType::F32, group.size());
    for (Call& call : calls) call.seed += step;
    if (step == 6) calls.resize(calls.size() / 2);
    if (step == 8) calls.front().shape = {1000, 1000};
    checker.check(group, calls, {.seed = step + 1});
  }
}

void check_joins(Checker& checker, const Group& group) {
  for (int round = 0; round <= group.rank(); ++round) {
    Call call{.name = "joinable", .shape = {1000}, .op = ReduceOp::Average};
    for (int member = 0; member < round; ++member) call.joined.push_back(member);
    checker.check(group, {call}, {});
  }
  if (group.join().wait().last_joined != group.size() - 1) throw std::runtime_error("another one joined last");
}

// Whose sums have no place in 16 bits: few values go between nodes by TCP, many by MPI where the job has it.
void check_averages(Engine& engine) {
  for (const std::size_t count : {std::size_t{100}, std::size_t{100'000}})
    for (const double value : {40000.0, -60000.0}) {
      Bytes values(2 * count);
      for (std::size_t i = 0; i < count; ++i) store_number(DType::F16, values.data() + 2 * i, value);
      const Bytes before = values;
      const Buffer buffer{.data = values.data(), .dtype = DType::F16, .shape = {static_cast<std::int64_t>(count)}};
      engine.world().allreduce("averages", buffer, {.op = ReduceOp::Average}).wait();
      if (values != before) throw std::runtime_error(fmt::format("the average of {} in f16 is another number", value));
      // Scales do what an average does.
      engine.world().allreduce("scaled", buffer, {.prescale = 0.25, .postscale = 4.0 / engine.size()}).wait();
      if (values != before) throw std::runtime_error(fmt::format("{} in f16, scaled, is another number", value));
    }
}

void run(std::span<const DType> types) {
  const auto engine = make_engine();
  Checker checker(*engine);
  check_everything(checker, engine->world(), types);
  check_steps(checker, engine->world());
  check_joins(checker, engine->world());
  check_averages(*engine);
  std::vector<int> backwards(static_cast<std::size_t>(engine->size()));
  std::iota(backwards.rbegin(), backwards.rend(), 0);
  const Group group = engine->make_group(backwards);
  check_steps(checker, group);
  engine->drop_group(group);
  say(fmt::format("ok {} checks", checker.checks()));
}

}  // namespace
}  // namespace ronde::comm::tests

int main(int count, char** arguments) {
  using ronde::comm::DType;
  constexpr auto few = std::to_array({DType::F32, DType::BF16, DType::I64});
  return ronde::comm::tests::run_program([&] {
    const bool all = count == 1;
    if (!all && std::string_view(arguments[1]) != "few") throw std::runtime_error("usage: ops_rank [few]");
    ronde::comm::tests::run(all ? std::span<const DType>(ronde::comm::tests::kAllDTypes) : few);
  });
}
