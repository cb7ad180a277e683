#include "ronde/base/math/step_window.h"

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde {
namespace {

std::optional<std::int64_t> parse_bound(std::string_view bound, std::string_view text) {
  if (bound.empty()) return std::nullopt;
  const auto step = parse_number<std::int64_t>(bound);
  if (!step || *step < 0)
    throw Error::bad_input("'{}' is not a range of steps: '{}' is not a step number; write for instance 100..120", text,
                           bound);
  return step;
}

}  // namespace

StepWindow parse_step_window(std::string_view text) {
  if (text.empty()) return {};
  const auto dots = text.find("..");
  if (dots == std::string_view::npos)
    throw Error::bad_input("'{}' is not a range of steps; write for instance 100..120, 100.. or ..120", text);
  const StepWindow window{.first = parse_bound(text.substr(0, dots), text),
                          .last = parse_bound(text.substr(dots + 2), text)};
  if (window.first && window.last && *window.first > *window.last)
    throw Error::bad_input("'{}' is an empty range of steps: {} comes after {}", text, *window.first, *window.last);
  return window;
}

}  // namespace ronde
