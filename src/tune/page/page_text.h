#pragma once

#include <string_view>

// The files of this folder that make up a page, as text inside the program (page_text.cc.in).
namespace ronde::tune::page {

extern const std::string_view kTemplate, kStyle, kCharts, kScript;

}  // namespace ronde::tune::page
