#pragma once

#include <array>
#include <vector>

#include "ronde/comm/testing/call.h"

// For tests: collectives of every kind.
namespace ronde::comm::tests {

inline constexpr std::array kAllDTypes{DType::U8,  DType::I8,   DType::U16, DType::I16, DType::I32, DType::I64,
                                       DType::F16, DType::BF16, DType::F32, DType::F64, DType::Bool};
static_assert(kAllDTypes.size() == kDTypes);
inline constexpr std::array kAllReduceOps{ReduceOp::Sum, ReduceOp::Average, ReduceOp::Min, ReduceOp::Max,
                                          ReduceOp::Product};
inline constexpr std::array kFloatDTypes{DType::F16, DType::BF16, DType::F32, DType::F64};
// Those that everyone submits alike. Receive comes with Send; Join is a story of its own.
inline constexpr std::array kAllOperations{
    Operation::Allreduce, Operation::Reduce,   Operation::Allgather,     Operation::Gather, Operation::Scatter,
    Operation::Broadcast, Operation::Alltoall, Operation::ReduceScatter, Operation::Send,   Operation::Barrier};

// Every kind of call of one operation and type: all reductions, scales, compressions, roots, shapes with one value and
// with none, rows and splits that differ and that are zero. Named, each with another name.
std::vector<Call> every_call(Operation operation, DType dtype, int members);

// Any call that this many members can make together; without a name.
Call any_call(Random& random, int members);
// One that members may miss because they have joined.
Call any_joinable_call(Random& random, int members);

// Scales, for which it does not matter at which place an engine rounds; none where there are no such.
void set_scales(Call& call);

}  // namespace ronde::comm::tests
