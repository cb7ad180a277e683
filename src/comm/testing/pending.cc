#include "ronde/comm/testing/pending.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/comm/math/reduce_reference.h"
#include "ronde/comm/testing/reference.h"

namespace ronde::comm::tests {
namespace {

constexpr std::size_t kFence = 64;
constexpr std::byte kFenceByte{0xa5};
constexpr std::byte kJunk{0x01};  // what outputs hold before: also a Bool

bool is_fence(std::byte* begin, std::byte* end) {
  return std::all_of(begin, end, [](std::byte byte) { return byte == kFenceByte; });
}

// The first element that is further off than it may be, or -1.
std::ptrdiff_t first_beyond(const Call& call, int members, const std::byte* got, const std::byte* expected,
                            std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const double is = math::load_float(call.dtype, got + i * size_of(call.dtype));
    const double should = math::load_float(call.dtype, expected + i * size_of(call.dtype));
    if (!(std::abs(is - should) <= allowed_error(call, members, should))) return static_cast<std::ptrdiff_t>(i);
  }
  return -1;
}

}  // namespace

Placement Placement::draw(Random& random) {
  return {.result = static_cast<Result>(random.below(4)), .shared = random.once_in(3), .offset = random.below(5u)};
}

Placement Placement::on(int which) const {
  Placement other = *this;
  other.gpu = which;
  if (which != device::kHost) other.shared = false;
  return other;
}

Storage::Storage(Engine& engine, std::size_t bytes, const Placement& placement, std::size_t element) {
  const std::size_t before = kFence + placement.offset * element;
  const std::size_t all = before + bytes + kFence;
  if (placement.shared) {
    auto memory = std::make_shared<SharedMemory>(engine.allocate(all));
    begin_ = memory->data();
    owner_ = memory;
  } else {
    auto memory = std::make_shared<Bytes>(all);
    begin_ = memory->data();
    owner_ = memory;
  }
  data_ = begin_ + before;
  end_ = data_ + bytes;
  end_all_ = begin_ + all;
  std::fill(begin_, end_all_, kFenceByte);
  std::fill(data_, end_, kJunk);
  if (placement.gpu == device::kHost) return;
  gpu_ = std::make_shared<device::DeviceBuffer>(placement.gpu, all);
  to_gpu();
}

void Storage::to_gpu() const {
  if (!gpu_) return;
  const device::Stream stream = device::Stream::borrow(gpu_->device(), nullptr);
  device::copy_async(gpu_->data(), begin_, gpu_->size(), stream);
  stream.synchronize();
}

void Storage::from_gpu() const {
  if (!gpu_) return;
  const device::Stream stream = device::Stream::borrow(gpu_->device(), nullptr);
  device::copy_async(begin_, gpu_->data(), gpu_->size(), stream);
  stream.synchronize();
}

bool Storage::fences_stand() const {
  return is_fence(begin_, data_) && is_fence(end_, end_all_);
}

namespace {

Call placed(Call call, const Engine& engine, const Group& group) {
  call.where.clear();
  for (const int rank : group.ranks()) call.where.push_back(engine.node_of(rank));
  return call;
}

}  // namespace

Pending::Pending(Engine& engine, const Group& group, Call call, const Placement& placement)
    : call_(placed(std::move(call), engine, group)),
      member_(group.rank()),
      members_(group.size()),
      placement_(placement),
      engine_(&engine) {
  using Result = Placement::Result;
  if (placement_.result == Result::InPlace && !may_be_in_place(call_)) placement_.result = Result::OfEngine;
  const bool only_output = call_.operation == Operation::Scatter && member_ != call_.root;
  if (call_.operation == Operation::Send || (only_output && placement_.result == Result::OfEngine))
    placement_.result = Result::Given;
  const std::size_t element = size_of(call_.dtype);
  const bool keeps_input = gives(call_, member_) || call_.operation == Operation::Broadcast;
  if (keeps_input) {
    const Bytes values = make_input(call_, member_, members_);
    input_ = Storage(engine, values.size(), placement_, element);
    if (gives(call_, member_)) std::copy(values.begin(), values.end(), input_.on_host());
    input_.to_gpu();
  }
  if (gets(call_, member_) && placement_.result == Result::Given)
    output_ = Storage(engine, output_shape(call_, member_, members_).elements() * element, placement_, element);
}

Buffer Pending::buffer(const Storage& storage, const Shape& shape) const {
  return {.data = storage.data(), .dtype = call_.dtype, .shape = shape, .device = placement_.gpu};
}

std::vector<const Storage*> Pending::storages() const {
  std::vector<const Storage*> all{&input_, &output_};
  for (const auto& memory : allocated_) all.push_back(memory.get());
  return all;
}

Request Pending::request() {
  const bool receives = call_.operation == Operation::Send && member_ == call_.root;
  Request request{.operation = receives ? Operation::Receive : call_.operation,
                  .name = call_.name,
                  .op = call_.op,
                  .prescale = call_.prescale,
                  .postscale = call_.postscale,
                  .root = receives ? call_.sender : call_.root,
                  .compression = call_.compression};
  if (call_.operation == Operation::Barrier) return request;
  if (input_.data() != nullptr) request.input = buffer(input_, input_shape(call_, member_, members_));
  // A member that has no input of its own says by the output what it expects.
  const bool only_output = call_.operation == Operation::Scatter && member_ != call_.root;
  if (output_.data() != nullptr || only_output)
    request.output = buffer(output_, output_shape(call_, member_, members_));
  const bool splits_matter = call_.operation == Operation::Scatter || call_.operation == Operation::Alltoall;
  if (splits_matter && gives(call_, member_) && !call_.equal_shares) {
    const auto first = call_.rows.begin() + (call_.operation == Operation::Alltoall ? member_ * members_ : 0);
    request.splits.assign(first, first + members_);
  }
  if (placement_.result == Placement::Result::Allocated)
    request.allocate = [this](DType dtype, const Shape& shape) {
      allocated_.push_back(
          std::make_shared<Storage>(*engine_, shape.elements() * size_of(dtype), placement_, size_of(dtype)));
      return Memory{.data = allocated_.back()->data(), .owner = allocated_.back()};
    };
  return request;
}

std::string Pending::check() {
  try {
    const Result& result = handle_.wait();
    for (const Storage* storage : storages()) storage->from_gpu();
    const std::string problem = problem_with(result);
    return problem.empty() ? "" : fmt::format("member {} of {}: {}: {}", member_, members_, describe(call_), problem);
  } catch (const std::exception& error) {
    return fmt::format("member {} of {}: {}: failed: {}", member_, members_, describe(call_), error.what());
  }
}

std::string Pending::problem_with(const Result& result) const {
  const bool given = placement_.result == Placement::Result::Given;
  if (input_.data() != nullptr && !input_.fences_stand()) return "wrote beside its input";
  if (output_.data() != nullptr && !output_.fences_stand()) return "wrote beside its output";
  for (const auto& memory : allocated_)
    if (!memory->fences_stand()) return "wrote beside what was allocated";
  if (given && gives(call_, member_)) {
    const Bytes input = make_input(call_, member_, members_);
    if (!std::equal(input.begin(), input.end(), input_.on_host())) return "changed its input";
  }
  if (const auto splits = expected_splits(call_, member_, members_); result.splits != splits)
    return fmt::format("splits {} and not {}", fmt::join(result.splits, ","), fmt::join(splits, ","));
  if (!gets(call_, member_)) return result.output.data == nullptr ? "" : "has a result where it gets none";
  const Shape shape = output_shape(call_, member_, members_);
  const Buffer& output = result.output;
  if (output.dtype != call_.dtype) return fmt::format("a result of type {}", name(output.dtype));
  if (output.shape != shape) return fmt::format("shape {} and not {}", to_text(output.shape), to_text(shape));
  if (output.bytes() == 0) return "";
  if (output.data == nullptr) return "no result";
  if (given && output.data != output_.data()) return "the result is not where it was asked for";
  if (placement_.result == Placement::Result::InPlace && output.data != input_.data()) return "not in place";
  const Bytes expected = expected_output(call_, member_, members_);
  Bytes got(output.bytes());
  const device::Stream stream = device::Stream::borrow(placement_.gpu, nullptr);
  device::copy_async(got.data(), output.data, got.size(), stream);
  stream.synchronize();
  const std::byte* const bytes = got.data();
  auto at = math::first_difference(call_.dtype, bytes, expected.data(), shape.elements());
  if (at >= 0 && call_.op == ReduceOp::Adasum)
    at = first_beyond(call_, members_, bytes, expected.data(), shape.elements());
  if (at < 0) return "";
  const auto text = [&](const std::byte* data) {
    const std::byte* value = data + static_cast<std::size_t>(at) * size_of(call_.dtype);
    return math::is_float(call_.dtype) ? fmt::format("{}", math::load_float(call_.dtype, value))
                                       : fmt::format("{}", math::load_integer(call_.dtype, value));
  };
  return fmt::format("element {} is {} and not {}", at, text(bytes), text(expected.data()));
}

std::vector<std::string> run_calls(Engine& engine, const Group& group, const std::vector<Call>& calls,
                                   const Order& order) {
  Random random({order.seed, static_cast<std::uint64_t>(group.rank()), calls.size()});
  std::vector<std::unique_ptr<Pending>> pending;
  for (const Call& call : calls)
    if (submits(call, group.rank()))
      pending.push_back(std::make_unique<Pending>(engine, group, call, Placement::draw(random).on(order.gpu)));
  if (order.seed != 0) random.shuffle(pending);
  if (order.grouped) {
    std::vector<Request> requests;
    for (const auto& each : pending) requests.push_back(each->request());
    const auto handles = group.submit(std::move(requests));
    for (std::size_t i = 0; i < handles.size(); ++i) pending[i]->on_its_way(handles[i]);
  } else {
    for (const auto& each : pending) each->on_its_way(group.submit(each->request()));
  }
  if (order.seed != 0) random.shuffle(pending);
  std::vector<std::string> problems;
  for (const auto& each : pending)
    if (auto problem = each->check(); !problem.empty()) problems.push_back(std::move(problem));
  return problems;
}

}  // namespace ronde::comm::tests
