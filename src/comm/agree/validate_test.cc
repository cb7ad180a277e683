#include "ronde/comm/agree/validate.h"

#include <limits>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::comm::detail {
namespace {

constexpr int kRank = 1, kSize = 4;
float memory[64];

Buffer buffer(Shape shape = {8, 2}) {
  return {.data = memory, .shape = shape};
}

Request request(Operation operation) {
  return {.operation = operation, .name = "w", .input = buffer()};
}

// What is wrong with it; empty: nothing.
std::string trouble(const Request& request, int rank = kRank, int size = kSize) {
  try {
    validate(request, rank, size);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    return error.what();
  }
}

void expect_trouble(const Request& request, std::string_view about) {
  const std::string text = trouble(request);
  EXPECT_NE(text.find(about), std::string::npos) << "'" << text << "' does not say '" << about << "'";
  EXPECT_NE(text.find(name(request.operation)), std::string::npos) << text;
  EXPECT_NE(text.find(request.name.substr(0, 80)), std::string::npos) << text;
}

TEST(Validate, AdasumIsForAllreduceOfFloatingPointTypes) {
  Request adasum = request(Operation::Allreduce);
  adasum.op = ReduceOp::Adasum;
  for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64}) {
    adasum.input.dtype = dtype;
    EXPECT_EQ(trouble(adasum), "") << name(dtype);
  }
  adasum.input.dtype = DType::I32;
  expect_trouble(adasum, "floating-point types only, but the input is i32");
  for (const Operation operation : {Operation::Reduce, Operation::ReduceScatter}) {
    adasum = request(operation);
    adasum.op = ReduceOp::Adasum;
    expect_trouble(adasum, "for allreduce only");
  }
  adasum.operation = Operation::Broadcast;  // to which it does not matter
  EXPECT_EQ(trouble(adasum), "");
}

TEST(Validate, AcceptsWhatIsRight) {
  for (const Operation operation :
       {Operation::Allreduce, Operation::Reduce, Operation::Allgather, Operation::Gather, Operation::Broadcast,
        Operation::Alltoall, Operation::ReduceScatter, Operation::Send})
    EXPECT_EQ(trouble(request(operation)), "") << name(operation);
  Request bare;
  for (const Operation operation : {Operation::Barrier, Operation::Join}) {
    bare.operation = operation;
    EXPECT_EQ(trouble(bare), "") << name(operation);
  }
  bare.output = buffer();
  for (const Operation operation : {Operation::Receive, Operation::Scatter}) {
    bare.operation = operation;
    EXPECT_EQ(trouble(bare), "") << name(operation) << ": the root alone has an input";
  }
  Request scatter = request(Operation::Scatter);
  scatter.root = kRank;
  EXPECT_EQ(trouble(scatter), "");
}

TEST(Validate, ARootMustBeAMember) {
  for (const int root : {-1, kSize, 100}) {
    Request bad = request(Operation::Broadcast);
    bad.root = root;
    expect_trouble(bad, "no member " + std::to_string(root));
  }
}

TEST(Validate, NobodySendsToItself) {
  for (const Operation operation : {Operation::Send, Operation::Receive}) {
    Request bad = request(operation);
    bad.output = buffer();
    bad.root = kRank;
    expect_trouble(bad, "itself");
  }
}

TEST(Validate, MemoryMustBeContiguous) {
  Request bad = request(Operation::Allreduce);
  bad.input.strides = {1, 8};
  expect_trouble(bad, "input is not contiguous");
  bad.input.strides = {2};
  expect_trouble(bad, "input is not contiguous");
  bad.input.strides = {2, 1};
  EXPECT_EQ(trouble(bad), "");
  bad.output = bad.input;
  bad.output.strides = {1, 8};
  expect_trouble(bad, "output is not contiguous");
}

TEST(Validate, InputAndOutputMayLieInOneOtherOrder) {
  Request turned = request(Operation::Allreduce);
  turned.input.strides = {1, 8};
  turned.output = turned.input;
  for (const Operation operation : {Operation::Allreduce, Operation::Reduce, Operation::Broadcast}) {
    turned.operation = operation;
    EXPECT_EQ(trouble(turned), "") << name(operation);
  }
  for (const Operation operation : {Operation::Allgather, Operation::Alltoall, Operation::ReduceScatter}) {
    turned.operation = operation;
    expect_trouble(turned, "input is not contiguous");
  }
  turned.operation = Operation::Allreduce;
  turned.input.strides = turned.output.strides = {1, 9};
  expect_trouble(turned, "input is not contiguous");
}

TEST(Validate, StridesOfWhatHasOneElementOrNoneDoNotMatter) {
  Request one = request(Operation::Allreduce);
  one.input.shape = {1, 3};
  one.input.strides = {77, 1};
  EXPECT_EQ(trouble(one), "");
  one.input.shape = {0, 3};
  one.input.strides = {5, 5};
  EXPECT_EQ(trouble(one), "");
}

TEST(Validate, MemoryOfAGpuIsNotForThisBuild) {
  Request bad = request(Operation::Allreduce);
  bad.input.device = 0;
  expect_trouble(bad, "GPU 0");
}

TEST(Validate, WhatIsReadNeedsMemory) {
  Request bad = request(Operation::Allreduce);
  bad.input.data = nullptr;
  expect_trouble(bad, "input has no memory");
  bad.input.shape = {0};
  EXPECT_EQ(trouble(bad), "") << "nothing is read";
}

TEST(Validate, AnOutputHasTheShapeAndTypeOfTheInput) {
  Request bad = request(Operation::Allreduce);
  bad.output = buffer({2, 8});
  expect_trouble(bad, "the output is f32 [2, 8], but the input is f32 [8, 2]");
  bad.output = buffer();
  bad.output.dtype = DType::I32;
  expect_trouble(bad, "i32");
}

TEST(Validate, SplitsAddUpToTheRows) {
  Request bad = request(Operation::Alltoall);
  bad.splits = {1, 2, 3, 2};
  EXPECT_EQ(trouble(bad), "");
  bad.splits = {1, 2, 3, 3};
  expect_trouble(bad, "add up to 9 rows");
  bad.splits = {4, 4};
  expect_trouble(bad, "2 splits for 4 members");
  bad.splits = {9, -1, 0, 0};
  expect_trouble(bad, "number of rows in a split must be at least 0, got -1");
  bad.splits = {};
  bad.input = buffer({6});
  expect_trouble(bad, "6 rows cannot be divided equally among 4 members");
}

TEST(Validate, SplitsOfAScatterAreTheRootsAffair) {
  Request scatter = request(Operation::Scatter);
  scatter.input = buffer({6});
  scatter.output = buffer();
  scatter.root = kRank;
  EXPECT_NE(trouble(scatter), "");
  EXPECT_EQ(trouble(scatter, 0), "");
}

TEST(Validate, ScalesAreNumbers) {
  Request bad = request(Operation::Allreduce);
  bad.prescale = std::numeric_limits<double>::quiet_NaN();
  expect_trouble(bad, "prescale and postscale must be finite");
  bad.prescale = 1;
  bad.postscale = std::numeric_limits<double>::infinity();
  expect_trouble(bad, "prescale and postscale must be finite");
}

TEST(Validate, NamesHaveAnEnd) {
  Request bad = request(Operation::Allreduce);
  bad.name = std::string(kLongestName, 'x');
  EXPECT_EQ(trouble(bad), "");
  bad.name += 'x';
  expect_trouble(bad, "name of 1025 characters is too long");
  EXPECT_LT(trouble(bad).size(), 300u) << "the message does not repeat all of it";
}

}  // namespace
}  // namespace ronde::comm::detail
