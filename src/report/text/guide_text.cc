#include "ronde/base/text/format.h"
#include "ronde/base/text/terminal.h"
#include "ronde/report/text/text.h"
#include "ronde/report/text/text_parts.h"

namespace ronde::report {

using detail::wrapped;

std::string guide_text(const Report& report, bool colour) {
  const Paint paint(colour);
  std::string out = wrapped(report.verdict.text);
  int number = 0;
  for (const GuideStage& stage : report.guide) {
    const std::string mark = stage.state == GuideStage::State::Here   ? "  <- here"
                             : stage.state == GuideStage::State::Done ? "  (done)"
                                                                      : "";
    out += "\n" + paint.bold(fmt::format("{}. {}", ++number, stage.stage)) + mark + "\n";
    out += wrapped(stage.text, "   ");
    if (!stage.command.empty()) out += "   $ " + paint.bold(stage.command) + "\n";
  }
  return out;
}

}  // namespace ronde::report
