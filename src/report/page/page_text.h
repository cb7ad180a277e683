#pragma once

#include <array>
#include <string_view>

// The files of this folder that make up a page, as text inside the program (page_text.cc.in).
namespace ronde::report::page {

extern const std::string_view kTemplate;                 // page.html
extern const std::array<std::string_view, 2> kStyles;    // *.css
extern const std::array<std::string_view, 10> kScripts;  // *.js, in the order in which they build on one another

}  // namespace ronde::report::page
