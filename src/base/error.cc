#include "ronde/base/error.h"

#include <cerrno>
#include <system_error>

#include <sys/resource.h>

namespace ronde {

Error::Error(Kind kind, std::string message) : Error(kind, std::move(message), Details{}) {}

Error::Error(Kind kind, std::string message, Details details) {
  std::string what = message;
  if (details.cause) {
    what += "; cause: ";
    what += details.cause->what();
  }
  body_ = std::make_shared<const Body>(Body{kind, std::move(message), std::move(details), std::move(what)});
}

const Error& Error::first_cause() const noexcept {
  const Error* error = this;
  while (error->cause()) error = error->cause();
  return *error;
}

std::string Error::with_errno(std::string message, int number) {
  rlimit limit{};
  if (number == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0)
    return fmt::format("{}: out of file descriptors (limit {}); raise it with ulimit -n", message, limit.rlim_cur);
  return message + ": " + std::generic_category().message(number);
}

std::string_view name(Error::Kind kind) {
  switch (kind) {
    case Error::Kind::Mismatch: return "mismatch";
    case Error::Kind::PeerLost: return "peer lost";
    case Error::Kind::Timeout: return "timeout";
    case Error::Kind::BadInput: return "bad input";
    case Error::Kind::System: return "system";
    case Error::Kind::Bug: return "bug";
  }
  return "unknown";
}

}  // namespace ronde
