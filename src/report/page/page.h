#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace ronde::report {

struct Report;

// report.html: one file that opens in any browser of the last years, without a network. The report, with its timeline,
// is in the page as what `ronde report --json` prints, and scripts in the page draw from it. Pure; any thread.
std::string html_page(const Report& report);

// The page of such JSON. Parts that are missing, null or empty are left out of it.
std::string page_of_json(const nlohmann::ordered_json& document);

// JSON that may stand inside a <script> element: nothing in it ends the element or opens a comment, and a JSON parser
// reads what `document` is. Bytes that are no UTF-8 become a replacement character.
std::string json_for_script(const nlohmann::ordered_json& document);

}  // namespace ronde::report
