#pragma once

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ronde/base/text/format.h"

namespace ronde {

// The one exception of Ronde. It says in one sentence what went wrong and who is at fault, and carries what caused it.
//
//   throw Error::bad_input("{} holds no pictures", folder);
//   throw Error(Error::Kind::PeerLost, "allreduce 'w': rank 3 on b2 died after 2.1 s", {.ranks = {3}, .cause = cause});
//
// Copies share the cause and never throw, so an Error may be kept in a handle and thrown again on another thread.
class Error : public std::exception {
 public:
  enum class Kind {
    Mismatch,  // ranks asked for different things
    PeerLost,  // another rank died or left
    Timeout,   // another rank is alive and does not come
    BadInput,  // the user's flags, settings, files or arguments
    System,    // the operating system or a library refused
    Bug,       // our own fault
  };

  struct Details {
    std::vector<int> ranks = {};                   // the ranks at fault, in ascending order
    std::shared_ptr<const Error> cause = nullptr;  // what made this happen
  };

  Error(Kind kind, std::string message);
  Error(Kind kind, std::string message, Details details);

  template <class... Args>
  static Error bad_input(fmt::format_string<Args...> format, Args&&... args) {
    return {Kind::BadInput, fmt::format(format, std::forward<Args>(args)...)};
  }
  // Appends what errno says; take `number` before anything else can change it.
  template <class... Args>
  static Error system(int number, fmt::format_string<Args...> format, Args&&... args) {
    return {Kind::System, with_errno(fmt::format(format, std::forward<Args>(args)...), number)};
  }

  Kind kind() const noexcept { return body_->kind; }
  const std::string& message() const noexcept { return body_->message; }
  const std::vector<int>& ranks() const noexcept { return body_->details.ranks; }
  const Error* cause() const noexcept { return body_->details.cause.get(); }
  const Error& first_cause() const noexcept;

  // The message, then each cause: "cannot start; cause: no such file".
  const char* what() const noexcept override { return body_->what.c_str(); }

  // What a program that ends on this error returns: 2 for wrong input, otherwise 1.
  int exit_code() const noexcept { return kind() == Kind::BadInput ? 2 : 1; }

 private:
  struct Body {
    Kind kind;
    std::string message;
    Details details;
    std::string what;
  };
  static std::string with_errno(std::string message, int number);

  std::shared_ptr<const Body> body_;
};

std::string_view name(Error::Kind kind);

}  // namespace ronde
