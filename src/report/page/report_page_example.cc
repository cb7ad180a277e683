// Makes the page, or the text, of a document that `ronde report --json` would print:
//   report_page_example DOCUMENT.json PAGE.html       report_page_example DOCUMENT.json --text

#include <cstdio>
#include <exception>
#include <fstream>
#include <string_view>

#include "ronde/report/page/page.h"
#include "ronde/report/text/text.h"

int main(int count, char** arguments) {
  if (count != 3) {
    std::fputs("usage: report_page_example DOCUMENT.json PAGE.html|--text\n", stderr);
    return 2;
  }
  try {
    std::ifstream in(arguments[1]);
    const auto document = nlohmann::ordered_json::parse(in);
    if (std::string_view(arguments[2]) == "--text") {
      std::fputs(ronde::report::text_report(document, false).c_str(), stdout);
      return 0;
    }
    std::ofstream out(arguments[2], std::ios::binary);
    out << ronde::report::html_page(document) << std::flush;
    return out ? 0 : 1;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "report_page_example: %s: %s\n", arguments[1], failure.what());
    return 1;
  }
}
