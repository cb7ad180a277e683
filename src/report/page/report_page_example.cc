// Prints the JSON of the sample report, or makes the page of such JSON:
//   report_page_example > DOCUMENT.json       report_page_example DOCUMENT.json PAGE.html

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>

#include "ronde/base/text/json_text.h"
#include "ronde/report/json/report_json.h"
#include "ronde/report/page/page.h"
#include "ronde/report/testing/sample_report.h"

int main(int count, char** arguments) {
  using namespace ronde;
  if (count == 1) {
    std::cout << json_text(report::to_json(report::testing::sample_report())) << std::endl;
    return 0;
  }
  if (count != 3) {
    std::fputs("usage: report_page_example [DOCUMENT.json PAGE.html]\n", stderr);
    return 2;
  }
  try {
    std::ifstream in(arguments[1]);
    const auto document = nlohmann::ordered_json::parse(in);
    std::ofstream out(arguments[2], std::ios::binary);
    out << report::page_of_json(document) << std::flush;
    return out ? 0 : 1;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "report_page_example: %s: %s\n", arguments[1], failure.what());
    return 1;
  }
}
