#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace ronde::report {

// A report for a terminal, under 90 columns: `document` is what `ronde report --json` prints. The verdict first, then
// the tree, where the time goes, causes, advice, and what to try next. Parts that are missing, null or empty are left
// out. Pure; any thread.
std::string text_report(const nlohmann::ordered_json& document, bool colour);

// The guide of a document as text: all stages, where this run stands, and the next experiment.
std::string guide_text(const nlohmann::ordered_json& document, bool colour);

}  // namespace ronde::report
