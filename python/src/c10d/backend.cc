#include "backend.h"

#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"

namespace ronde::python::c10d_backend {
namespace {

using ::c10d::OpType;

// A call is made for one tensor, or one list of tensors: torch once had several, one per GPU of a process.
template <class List>
auto& only(const char* call, List& list) {
  if (list.size() != 1) throw Error::bad_input("{}: a list of {} where one is expected", call, list.size());
  return list.front();
}

const Tensors& list_of(const char* call, const std::vector<Tensors>& lists, bool needed) {
  static const Tensors kNone;
  if (!needed) return kNone;
  return only(call, lists);
}

void check_pairs(const char* call, std::size_t outputs, std::size_t inputs) {
  if (outputs != inputs) throw Error::bad_input("{}: {} outputs for {} inputs", call, outputs, inputs);
}

}  // namespace

Backend::Backend(std::shared_ptr<Job> job, std::optional<Job::Made> made, const Place& place,
                 std::chrono::milliseconds timeout)
    : ::c10d::Backend(place.rank, place.size),
      job_(std::move(job)),
      made_(std::move(made)),
      place_(place),
      group_(made_ ? made_->group : job_->world()),
      timeout_(timeout) {}

Backend::~Backend() = default;

c10::intrusive_ptr<Backend::Options> Backend::getBackendOptions() {
  return c10::make_intrusive<Options>("ronde", timeout_.load());
}

// --- from a call to requests
// ------------------------------------------------------------------------------------------

Backend::Calls Backend::start(const Call& call, const std::function<Transfer()>& transfer) {
  try {
    job_->check_running();
    if (left_) throw Error::bad_input("the process group has been destroyed");
    const at::NoGradGuard no_grad;
    if (!coalesced_) return submit(call, transfer());
    coalesced_->append(transfer());
    return {};
  } catch (const Error& error) {
    throw_as_torch(error);
  }
}

Backend::Calls Backend::submit(const Call& call, Transfer transfer) {
  job_->abandoned()->sweep();
  const std::uint64_t sequence = ++sequence_;
  auto travelling = std::make_shared<Travelling>(
      std::move(transfer), fmt::format("{} (call {} of its group)", call.title, sequence), job_->completions());
  travelling->start(group_);
  const auto timeout = call.timeout == ::c10d::kUnsetTimeout ? timeout_.load() : call.timeout;
  return c10::make_intrusive<Work>(place_.rank, call.type, call.title, sequence, std::move(travelling),
                                   job_->abandoned(), job_->limit_for(timeout));
}

void Backend::startCoalescing() {
  if (coalesced_) throw_as_torch(Error::bad_input("coalescing has already begun"));
  coalesced_.emplace();
}

Backend::Calls Backend::endCoalescing() {
  if (!coalesced_) throw_as_torch(Error::bad_input("coalescing has not begun"));
  Transfer all = std::move(*coalesced_);
  coalesced_.reset();
  return start({OpType::COALESCED, "ronde:coalesced", ::c10d::kUnsetTimeout}, [&] { return std::move(all); });
}

// --- collectives
// ------------------------------------------------------------------------------------------------------

Backend::Calls Backend::broadcast(Tensors& tensors, const ::c10d::BroadcastOptions& options) {
  return start({OpType::BROADCAST, "ronde:broadcast", options.timeout},
               [&] { return c10d_backend::broadcast(only("broadcast", tensors), static_cast<int>(options.rootRank)); });
}

Backend::Calls Backend::allreduce(Tensors& tensors, const ::c10d::AllreduceOptions& options) {
  return start({OpType::ALLREDUCE, "ronde:all_reduce", options.timeout},
               [&] { return c10d_backend::allreduce(place_, only("all_reduce", tensors), options.reduceOp); });
}

Backend::Calls Backend::allreduce_sparse(Tensors& tensors, const ::c10d::AllreduceOptions& options) {
  return allreduce(tensors, options);
}

Backend::Calls Backend::allreduce_coalesced(Tensors& tensors, const ::c10d::AllreduceCoalescedOptions& options) {
  return start({OpType::ALLREDUCE_COALESCED, "ronde:all_reduce_coalesced", options.timeout}, [&] {
    Transfer all;
    for (const at::Tensor& one : tensors) all.append(c10d_backend::allreduce(place_, one, options.reduceOp));
    return all;
  });
}

Backend::Calls Backend::reduce(Tensors& tensors, const ::c10d::ReduceOptions& options) {
  return start({OpType::REDUCE, "ronde:reduce", options.timeout}, [&] {
    return c10d_backend::reduce(place_, only("reduce", tensors), options.reduceOp, static_cast<int>(options.rootRank));
  });
}

Backend::Calls Backend::allgather(Lists& outputs, Tensors& inputs, const ::c10d::AllgatherOptions& options) {
  return start({OpType::ALLGATHER, "ronde:all_gather", options.timeout}, [&] {
    return c10d_backend::allgather(place_, only("all_gather", outputs), only("all_gather", inputs));
  });
}

Backend::Calls Backend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                        const ::c10d::AllgatherOptions& options) {
  return start({OpType::_ALLGATHER_BASE, "ronde:all_gather_into_tensor", options.timeout},
               [&] { return allgather_into(place_, output, input); });
}

// Lists of results by member.
Backend::Calls Backend::allgather_coalesced(Lists& outputs, Tensors& inputs, const ::c10d::AllgatherOptions& options) {
  return start({OpType::ALLGATHER_COALESCED, "ronde:all_gather_coalesced", options.timeout}, [&] {
    Transfer all;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Tensors of_all;
      for (const Tensors& list : outputs) {
        check_pairs("all_gather_coalesced", list.size(), inputs.size());
        of_all.push_back(list[i]);
      }
      all.append(c10d_backend::allgather(place_, of_all, inputs[i]));
    }
    return all;
  });
}

Backend::Calls Backend::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                        const ::c10d::AllgatherOptions& options) {
  return start({OpType::COALESCED, "ronde:all_gather_into_tensor_coalesced", options.timeout}, [&] {
    check_pairs("all_gather_into_tensor_coalesced", outputs.size(), inputs.size());
    Transfer all;
    for (std::size_t i = 0; i < inputs.size(); ++i) all.append(allgather_into(place_, outputs[i], inputs[i]));
    return all;
  });
}

Backend::Calls Backend::gather(Lists& outputs, Tensors& inputs, const ::c10d::GatherOptions& options) {
  const int root = static_cast<int>(options.rootRank);
  return start({OpType::GATHER, "ronde:gather", options.timeout}, [&] {
    return c10d_backend::gather(place_, list_of("gather", outputs, place_.rank == root), only("gather", inputs), root);
  });
}

Backend::Calls Backend::scatter(Tensors& outputs, Lists& inputs, const ::c10d::ScatterOptions& options) {
  const int root = static_cast<int>(options.rootRank);
  return start({OpType::SCATTER, "ronde:scatter", options.timeout}, [&] {
    return c10d_backend::scatter(place_, only("scatter", outputs), list_of("scatter", inputs, place_.rank == root),
                                 root);
  });
}

Backend::Calls Backend::reduce_scatter(Tensors& outputs, Lists& inputs, const ::c10d::ReduceScatterOptions& options) {
  return start({OpType::REDUCE_SCATTER, "ronde:reduce_scatter", options.timeout}, [&] {
    return c10d_backend::reduce_scatter(place_, only("reduce_scatter", outputs), only("reduce_scatter", inputs),
                                        options.reduceOp);
  });
}

Backend::Calls Backend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                             const ::c10d::ReduceScatterOptions& options) {
  return start({OpType::_REDUCE_SCATTER_BASE, "ronde:reduce_scatter_tensor", options.timeout},
               [&] { return reduce_scatter_from(place_, output, input, options.reduceOp); });
}

Backend::Calls Backend::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                        const ::c10d::ReduceScatterOptions& options) {
  return start({OpType::REDUCE_SCATTER_TENSOR_COALESCED, "ronde:reduce_scatter_tensor_coalesced", options.timeout},
               [&] {
                 check_pairs("reduce_scatter_tensor_coalesced", outputs.size(), inputs.size());
                 Transfer all;
                 for (std::size_t i = 0; i < inputs.size(); ++i)
                   all.append(reduce_scatter_from(place_, outputs[i], inputs[i], options.reduceOp));
                 return all;
               });
}

Backend::Calls Backend::alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& output_splits,
                                      std::vector<std::int64_t>& input_splits, const ::c10d::AllToAllOptions& options) {
  return start({OpType::ALLTOALL_BASE, "ronde:all_to_all_single", options.timeout},
               [&] { return alltoall_rows(place_, output, input, output_splits, input_splits); });
}

Backend::Calls Backend::alltoall(Tensors& outputs, Tensors& inputs, const ::c10d::AllToAllOptions& options) {
  return start({OpType::ALLTOALL, "ronde:all_to_all", options.timeout},
               [&] { return c10d_backend::alltoall(place_, outputs, inputs); });
}

// --- from one to one
// --------------------------------------------------------------------------------------------------

// Messages of one tag come in order. Those of tag 0 have no name and match by their order; others have names that never
// come again, so any number of them can be on their way.
std::string Backend::name_of(int tag, int peer, bool outgoing) {
  if (tag == 0) return {};
  const Lock lock(tags_mutex_);
  return fmt::format("tag {} message {}", tag, tags_[{tag, peer, outgoing}]++);
}

Backend::Calls Backend::send(Tensors& tensors, int to, int tag) {
  return start({OpType::SEND, "ronde:send", ::c10d::kUnsetTimeout},
               [&] { return c10d_backend::send(only("send", tensors), name_of(tag, to, true), to); });
}

Backend::Calls Backend::recv(Tensors& tensors, int from, int tag) {
  return start({OpType::RECV, "ronde:recv", ::c10d::kUnsetTimeout},
               [&] { return receive(only("recv", tensors), name_of(tag, from, false), from); });
}

Backend::Calls Backend::recvAnysource(Tensors&, int) {
  throw_as_torch(Error::bad_input("recv: the backend 'ronde' cannot receive from any rank: name the one that sends"));
}

// --- meeting
// ----------------------------------------------------------------------------------------------------------

Backend::Calls Backend::barrier(const ::c10d::BarrierOptions& options) {
  return start({OpType::BARRIER, "ronde:barrier", options.timeout}, [] { return c10d_backend::barrier(); });
}

namespace {

// A barrier by the store, so that it says who is missing even where the engine of a rank does not answer. Rank 0 waits
// for all, and all wait for what it says.
class MonitoredBarrier {
 public:
  MonitoredBarrier(const Store& store, std::string key, const Place& place, std::chrono::milliseconds timeout)
      : store_(store), key_(std::move(key)), place_(place), timeout_(timeout), until_(Deadline::after(timeout)) {}

  void arrive() const {
    store_->set(key_of(place_.rank), std::vector<std::uint8_t>{1});
    if (!comes(go())) {
      throw Error(Error::Kind::Timeout, fmt::format("monitored barrier: rank {} waited {} for rank 0 of the group, "
                                                    "which waits for all ranks",
                                                    place_.rank, format_duration(timeout_)));
    }
    const std::vector<std::uint8_t> said = store_->get(go());
    const std::string text(said.begin(), said.end());
    if (text != kAllCame) throw Error(Error::Kind::Timeout, text);
  }

  void wait_for_all(bool after_the_first_too) const {
    std::vector<std::string> missing;
    for (int rank = 1; rank < place_.size && (missing.empty() || after_the_first_too); ++rank)
      if (!comes(key_of(rank))) missing.push_back(std::to_string(rank));
    const std::string text =
        missing.empty()
            ? kAllCame
            : fmt::format("monitored barrier: {} {} of the group did not arrive within {}",
                          missing.size() == 1 ? "rank" : "ranks", join(missing, ", "), format_duration(timeout_));
    store_->set(go(), std::vector<std::uint8_t>(text.begin(), text.end()));
    if (!missing.empty()) throw Error(Error::Kind::Timeout, text);
  }

 private:
  static constexpr const char* kAllCame = "all came";
  std::string key_of(int rank) const { return fmt::format("{}/{}", key_, rank); }
  std::string go() const { return key_ + "/go"; }
  bool comes(const std::string& key) const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until_.left());
    try {
      store_->wait({key}, std::max(std::chrono::milliseconds(1), left));
      return true;
    } catch (const c10::Error&) {
      return false;
    }
  }

  const Store& store_;
  const std::string key_;
  const Place place_;
  const std::chrono::milliseconds timeout_;
  const Deadline until_;
};

}  // namespace

void Backend::monitoredBarrier(const ::c10d::BarrierOptions& options, bool wait_for_all) {
  try {
    job_->check_running();
    const auto timeout = options.timeout == ::c10d::kUnsetTimeout ? timeout_.load() : options.timeout;
    const std::string key =
        fmt::format("ronde/{}/monitored barrier {}.{}", job_->number(), made_ ? made_->number : 0, monitored_++);
    const MonitoredBarrier barrier(job_->store(), key, place_, timeout);
    place_.rank == 0 ? barrier.wait_for_all(wait_for_all) : barrier.arrive();
  } catch (const Error& error) {
    throw_as_torch(error);
  }
}

void Backend::shutdown() {
  if (std::exchange(left_, true)) return;
  made_ ? job_->leave_group(*made_) : job_->end("");
}

void Backend::abort() {
  job_->end("its program called abort()");
}

}  // namespace ronde::python::c10d_backend
