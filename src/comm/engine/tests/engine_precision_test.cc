#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/text/format.h"
#include "ronde/comm/math/reduce_reference.h"
#include "ronde/comm/testing/ranks.h"

// How precise sums of 16-bit values are: against f64, and by how often a value may have been rounded. docs/engine.md.
namespace ronde::comm {
namespace {

using math::load_float;
using math::store_float;
using tests::run_watched;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kFew = 301, kMany = 40'001;  // what one rank per node carries alone, and what all carry

double step_of(DType dtype) {  // half the distance of two neighbours, as a part of the value
  return dtype == DType::F16 ? 0x1p-11 : 0x1p-8;
}
double least_of(DType dtype) {  // half the distance of the smallest ones
  return dtype == DType::F16 ? 0x1p-25 : 0;
}

// What a rank gives, drawn so that all ranks know it.
Bytes values_of(int rank, std::size_t count, DType dtype, double largest) {
  std::mt19937_64 random(static_cast<std::uint64_t>(rank));
  std::uniform_real_distribution<double> values(-largest, largest);
  Bytes bytes(count * size_of(dtype));
  for (std::size_t i = 0; i < count; ++i) math::store_float(dtype, bytes.data() + i * size_of(dtype), values(random));
  return bytes;
}

Buffer buffer_of(Bytes& bytes, DType dtype) {
  return {.data = bytes.data(), .dtype = dtype, .shape = {static_cast<std::int64_t>(bytes.size() / size_of(dtype))}};
}

struct Sums {
  ReduceOp op = ReduceOp::Sum;
  double prescale = 1.0, postscale = 1.0, largest = 2.0;
};

class EnginePrecision : public testing::TestWithParam<tests::Place> {
 protected:
  const tests::Place& place() const { return GetParam(); }
  int ranks() const { return place().ranks; }
  bool shares_nodes() const { return place().ranks > place().nodes; }

  // How far result `i` may be off, if each node's sum is rounded once, if it has several members, and the result again.
  struct Expected {
    double value, tolerance;
  };
  std::vector<Expected> expected(std::size_t count, DType dtype, const Sums& sums) const {
    const double scale =
        sums.prescale * sums.postscale / (sums.op == ReduceOp::Average ? static_cast<double>(ranks()) : 1.0);
    std::vector<double> total(count), sizes(count), parts(count), node(count);
    for (int rank = 0; rank < ranks(); ++rank) {
      const Bytes input = values_of(rank, count, dtype, sums.largest);
      const bool last = rank + 1 == ranks() || node_of(rank + 1) != node_of(rank);
      for (std::size_t i = 0; i < count; ++i) {
        const double value = math::load_float(dtype, input.data() + i * size_of(dtype));
        total[i] += value, sizes[i] += std::abs(value), node[i] += value;
        if (last) parts[i] += std::abs(std::exchange(node[i], 0.0));
      }
    }
    std::vector<Expected> all;
    for (std::size_t i = 0; i < count; ++i) {
      const double value = total[i] * scale, in_f32 = sizes[i] * std::abs(scale) * ranks() * 0x1p-23;
      const bool twice = shares_nodes() && place().nodes > 1;
      const double once = step_of(dtype) * std::abs(value) * 1.01 + least_of(dtype);
      const double nodes = twice ? step_of(dtype) * parts[i] * std::abs(scale) + place().nodes * least_of(dtype) : 0.0;
      all.push_back({value, once + nodes + in_f32});
    }
    return all;
  }

  void expect_close(const Bytes& found, DType dtype, const std::vector<Expected>& expected, std::size_t first = 0) {
    for (std::size_t i = 0; i < found.size() / size_of(dtype); ++i) {
      const auto& [value, tolerance] = expected[first + i];
      ASSERT_NEAR(math::load_float(dtype, found.data() + i * size_of(dtype)), value, tolerance) << "element " << i;
    }
  }

  // Of the first value that `rank` gets in a reduce_scatter.
  std::size_t first_row(std::size_t count, int rank) const {
    const auto members = static_cast<std::size_t>(ranks()), me = static_cast<std::size_t>(rank);
    return count / members * me + std::min(me, count % members);
  }

 private:
  int node_of(int rank) const { return rank * place().nodes / ranks(); }
};

TEST_P(EnginePrecision, AllreducesAreRoundedAtMostTwice) {
  struct Case {
    DType dtype;
    std::size_t count;
    Sums sums;
    std::vector<Expected> wanted;
  };
  std::vector<Case> cases;
  for (const DType dtype : {DType::F16, DType::BF16})
    for (const std::size_t count : {kFew, kMany})
      for (const Sums& sums : {Sums{}, Sums{.op = ReduceOp::Average}, Sums{.prescale = 0.01, .postscale = 3.0},
                               Sums{.op = ReduceOp::Average, .postscale = -1.5, .largest = 1e-5}})
        cases.push_back({dtype, count, sums, expected(count, dtype, sums)});
  run_watched(place(), [&](Engine& engine) {
    for (const auto& [dtype, count, sums, wanted] : cases) {
      Bytes values = values_of(engine.rank(), count, dtype, sums.largest);
      engine.world().run(
          {.input = buffer_of(values, dtype), .op = sums.op, .prescale = sums.prescale, .postscale = sums.postscale});
      expect_close(values, dtype, wanted);
    }
  });
}

TEST_P(EnginePrecision, AveragesDoNotOverflow) {
  run_watched(place(), [&](Engine& engine) {
    for (const Operation operation : {Operation::Allreduce, Operation::Reduce, Operation::ReduceScatter})
      for (const bool by_scale : {false, true})
        for (const std::size_t count : {kFew, kMany}) {
          Bytes values(2 * count);
          for (std::size_t i = 0; i < count; ++i)
            math::store_float(DType::F16, values.data() + 2 * i, i % 2 ? 40000 : -60000);
          const Result result = engine.world().run({.operation = operation,
                                                    .name = fmt::format("{} {} {}", name(operation), by_scale, count),
                                                    .input = buffer_of(values, DType::F16),
                                                    .op = by_scale ? ReduceOp::Sum : ReduceOp::Average,
                                                    .prescale = by_scale ? 0.5 : 1.0,
                                                    .postscale = by_scale ? 2.0 / ranks() : 1.0});
          const auto* found = static_cast<const std::byte*>(result.output.data);
          const bool odd = operation == Operation::ReduceScatter && first_row(count, engine.rank()) % 2 == 1;
          for (std::size_t i = 0; found && i < result.output.shape.elements(); ++i)
            ASSERT_NEAR(math::load_float(DType::F16, found + 2 * i), (i + (odd ? 1 : 0)) % 2 ? 40000 : -60000, 32) << i;
        }
  });
}

TEST_P(EnginePrecision, ReducesAreRoundedAtMostTwice) {
  const DType dtype = DType::BF16;
  const Sums sums{.op = ReduceOp::Average};
  const auto wanted = expected(kMany, dtype, sums);
  run_watched(place(), [&](Engine& engine) {
    Bytes values = values_of(engine.rank(), kMany, dtype, sums.largest);
    const Result mine = engine.world().run(
        {.operation = Operation::ReduceScatter, .name = "mine", .input = buffer_of(values, dtype), .op = sums.op});
    const auto* data = static_cast<const std::byte*>(mine.output.data);
    expect_close(Bytes(data, data + mine.output.bytes()), dtype, wanted, first_row(kMany, engine.rank()));
    engine.world().run({.operation = Operation::Reduce,
                        .name = "the root's",
                        .input = buffer_of(values, dtype),
                        .op = sums.op,
                        .root = ranks() - 1});
    if (engine.rank() == ranks() - 1) expect_close(values, dtype, wanted);
  });
}

INSTANTIATE_TEST_SUITE_P(All, EnginePrecision,
                         testing::Values(tests::Place{3}, tests::Place{4, 2}, tests::Place{2, 2}, tests::Place{7, 3},
                                         tests::Place{8, 8}, tests::Place{9, 9}, tests::Place{18, 17}),
                         tests::place_name);

}  // namespace
}  // namespace ronde::comm
