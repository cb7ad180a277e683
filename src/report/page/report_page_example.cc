// Makes the page of a document that `ronde report --json` would print: report_page_example DOCUMENT.json PAGE.html

#include <cstdio>
#include <exception>
#include <fstream>

#include "ronde/report/page/page.h"

int main(int count, char** arguments) {
  if (count != 3) {
    std::fputs("usage: report_page_example DOCUMENT.json PAGE.html\n", stderr);
    return 2;
  }
  try {
    std::ifstream in(arguments[1]);
    const auto document = nlohmann::ordered_json::parse(in);
    std::ofstream out(arguments[2], std::ios::binary);
    out << ronde::report::page_of_json(document) << std::flush;
    return out ? 0 : 1;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "report_page_example: %s: %s\n", arguments[1], failure.what());
    return 1;
  }
}
