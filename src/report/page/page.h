#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace ronde::report {

// report.html: one file that opens in any browser of the last years, without a network. `document` is what
// `ronde report --json` prints, with "timeline"; it is in the page as it is, and scripts in the page draw from it.
// Parts that are missing, null or empty are left out of the page. Pure; any thread.
std::string html_page(const nlohmann::ordered_json& document);

// JSON that may stand inside a <script> element: nothing in it ends the element or opens a comment, and a JSON parser
// reads what `document` is. Bytes that are no UTF-8 become a replacement character.
std::string json_for_script(const nlohmann::ordered_json& document);

}  // namespace ronde::report
