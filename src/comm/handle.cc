#include "ronde/comm/handle.h"

#include "ronde/base/error.h"
#include "ronde/comm/engine/engine_core.h"
#include "ronde/device/stream.h"

namespace ronde::comm {
namespace {

// Until then the request is the engine's to change.
void wait_on_host(const std::shared_ptr<detail::Ticket>& ticket) {
  if (!ticket) throw Error::bad_input("wait: this handle is empty");
  detail::EngineCore::wait(ticket);
  if (ticket->error) throw *ticket->error;
}

const Result& result_in(CUstream_st* stream, const detail::Ticket& ticket) {
  if (const auto& done = ticket.done_on_gpu) device::Stream::borrow(done->device(), stream).wait(*done);
  return ticket.result;
}

}  // namespace

const Result& Handle::wait() const {
  wait_on_host(ticket_);
  return result_in(ticket_->request.stream, *ticket_);
}

const Result& Handle::wait(CUstream_st* stream) const {
  wait_on_host(ticket_);
  return result_in(stream, *ticket_);
}

bool Handle::poll() const {
  if (!ticket_) throw Error::bad_input("poll: this handle is empty");
  return detail::EngineCore::poll(ticket_);
}

}  // namespace ronde::comm
