#include "ronde/comm/group.h"

#include "ronde/comm/engine/engine_core.h"

namespace ronde::comm {

int Group::rank() const {
  return core_->rank();
}
int Group::size() const {
  return core_->size();
}
const std::vector<int>& Group::ranks() const {
  return core_->ranks();
}

Handle Group::submit(Request request) const {
  std::vector<Request> one;
  one.push_back(std::move(request));
  return submit(std::move(one)).front();
}

Result Group::run(Request request) const {
  std::vector<Request> one;
  one.push_back(std::move(request));
  const Handle handle(engine_->submit(core_, std::move(one), /*waits_at_once=*/true).front());
  return handle.wait();
}

std::string Group::why_not_nccl() const {
  return engine_->why_not_nccl(*core_);
}

void Group::reserve_in_stream(const std::vector<InStream>& all) const {
  engine_->reserve_in_stream(*core_, all);
}

void Group::launched_in_stream(const device::Stream& stream) const {
  engine_->launched_in_stream(*core_, stream);
}

void Group::allreduce_in_stream(const InStream& what, const device::Event& made, device::Event& done) const {
  engine_->allreduce_in_stream(*core_, what, made, done);
}

std::vector<Handle> Group::submit(std::vector<Request> requests) const {
  std::vector<Handle> handles;
  for (auto& ticket : engine_->submit(core_, std::move(requests))) handles.push_back(Handle(std::move(ticket)));
  return handles;
}

}  // namespace ronde::comm
