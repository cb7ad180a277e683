#include "ronde/comm/request.h"

#include "ronde/comm/agree/description.h"

namespace ronde::comm {

std::string_view name(Operation operation) {
  switch (operation) {
    case Operation::Allreduce: return "allreduce";
    case Operation::Reduce: return "reduce";
    case Operation::Allgather: return "allgather";
    case Operation::Gather: return "gather";
    case Operation::Scatter: return "scatter";
    case Operation::Broadcast: return "broadcast";
    case Operation::Alltoall: return "alltoall";
    case Operation::ReduceScatter: return "reduce_scatter";
    case Operation::Send: return "send";
    case Operation::Receive: return "receive";
    case Operation::Barrier: return "barrier";
    case Operation::Join: return "join";
    default: return operation == detail::kMakeGroup ? "make_group" : "drop_group";
  }
}

std::string_view name(Compression compression) {
  switch (compression) {
    case Compression::F16: return "f16";
    case Compression::BF16: return "bf16";
    default: return "none";
  }
}

}  // namespace ronde::comm
