#include "ronde/base/text/format.h"
#include "ronde/base/text/terminal.h"
#include "ronde/report/text/text.h"
#include "ronde/report/text/text_parts.h"

namespace ronde::report {

using detail::objects_at;
using detail::text_at;
using detail::wrapped;

std::string guide_text(const nlohmann::ordered_json& document, bool colour) {
  const Paint paint(colour);
  std::string out = wrapped(text_at(document, "verdict"));
  int number = 0;
  for (const auto& stage : objects_at(document, "guide")) {
    const std::string state = text_at(stage, "state"), command = text_at(stage, "command");
    const std::string mark = state == "here" ? "  <- here" : state == "done" ? "  (done)" : "";
    out += "\n" + paint.bold(fmt::format("{}. {}", ++number, text_at(stage, "stage"))) + mark + "\n";
    out += wrapped(text_at(stage, "text"), "   ");
    if (!command.empty()) out += "   $ " + paint.bold(command) + "\n";
  }
  return out;
}

}  // namespace ronde::report
