#include "ronde/comm/mpi/mpi_transport.h"

#include <algorithm>

#include "ronde/base/error.h"

namespace ronde::comm::detail {
namespace {

constexpr std::size_t kLargestPart = std::size_t{1} << 30;  // MPI counts with an int
constexpr std::chrono::milliseconds kPushTime{100};
constexpr std::chrono::microseconds kPushInterval{200};

}  // namespace

template <class Begin>
PendingMessage MpiTransport::begin(Tag tag, SharedBuffer buffer, Begin begin_part) {
  const auto number = static_cast<std::int64_t>(tag.channel) * Tag::kLanes + tag.lane;
  if (number > owner_.largest_tag())
    throw Error(
        Error::Kind::System,
        fmt::format(
            "this MPI library has tags up to {}, and a group needs {}: too many groups exist; drop those that are "
            "no longer needed",
            owner_.largest_tag(), 3 * Tag::kLanes));
  auto message = std::make_shared<MessageState>();
  auto left = std::make_shared<int>(0);
  std::size_t at = 0;
  do {  // an empty message is one too
    const SharedBuffer part = buffer.part(at, std::min(kLargestPart, buffer.size() - at));
    begin_part(part, static_cast<int>(number), next_);
    parts_.emplace(next_++, Part{part, message, left});
    ++*left;
    at += part.size();
  } while (at < buffer.size());
  return message;
}

PendingMessage MpiTransport::send(int to, Tag tag, SharedBuffer buffer) {
  return begin(tag, std::move(buffer), [&](const SharedBuffer& part, int number, std::uint64_t id) {
    owner_.check(owner_.mpi().send(part.data(), static_cast<int>(part.size()), to, number, id), "MPI_Isend");
  });
}

PendingMessage MpiTransport::receive(int from, Tag tag, SharedBuffer buffer) {
  return begin(tag, std::move(buffer), [&](const SharedBuffer& part, int number, std::uint64_t id) {
    owner_.check(owner_.mpi().receive(part.data(), static_cast<int>(part.size()), from, number, id), "MPI_Irecv");
  });
}

bool MpiTransport::pump() {
  const bool only_a_push = parts_.empty();
  if (only_a_push) {  // now and then is enough; it takes microseconds
    const auto now = monotonic_now();
    if (now >= push_until_ || now < next_push_) return false;
    next_push_ = now + kPushInterval;
  }
  done_.resize(parts_.size());
  const int count = owner_.mpi().pump(done_.data(), static_cast<int>(done_.size()));
  if (count < 0) owner_.check(-count, only_a_push ? "MPI_Iprobe" : "MPI_Testsome");
  for (int i = 0; i < count; ++i) {
    const auto part = parts_.find(done_[static_cast<std::size_t>(i)]);
    if (part == parts_.end()) continue;
    if (--*part->second.left == 0) part->second.message->done = true;
    parts_.erase(part);
  }
  if (count > 0) push_until_ = monotonic_now() + kPushTime;
  return count > 0;
}

}  // namespace ronde::comm::detail
