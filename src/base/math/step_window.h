#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ronde {

// The steps that are recorded: "100..120" (both ends included), "100..", "..120", or "" for all of the run.
// A plain value; any thread may use its own copy.
struct StepWindow {
  std::optional<std::int64_t> first;  // none: from the very start of the program, before any step
  std::optional<std::int64_t> last;   // none: to the very end

  bool contains(std::int64_t step) const { return (!first || step >= *first) && (!last || step <= *last); }
  bool open_before_first_step() const { return !first; }
  friend auto operator<=>(const StepWindow&, const StepWindow&) = default;
};

// FAILS WITH: BadInput, when `text` is none of the forms above, a step is negative, or the window is empty.
StepWindow parse_step_window(std::string_view text);

}  // namespace ronde
