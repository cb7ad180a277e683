#include "ronde/report/page/page.h"

#include <gtest/gtest.h>

#include "ronde/report/json/report_json.h"
#include "ronde/report/page/page_text.h"
#include "ronde/report/testing/sample_report.h"

namespace ronde::report {
namespace {

using Json = nlohmann::ordered_json;

Json sample() {
  return to_json(testing::sample_report());
}

// What a browser hands to the page's script.
Json embedded(const std::string& page) {
  const std::string open = R"(<script type="application/json" id="document">)";
  const std::size_t from = page.find(open) + open.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

TEST(Page, HoldsTheReportAsItsJson) {
  EXPECT_EQ(embedded(html_page(testing::sample_report())), sample());
}

TEST(Page, TheTemplateNamesEachPieceOnceInOrder) {
  std::size_t last = 0;
  for (const char* mark : {"@title@", "@style@", "@document@", "@script@"}) {
    const std::size_t at = page::kTemplate.find(mark);
    ASSERT_NE(at, std::string_view::npos) << mark;
    EXPECT_EQ(page::kTemplate.find(mark, at + 1), std::string_view::npos) << mark;
    EXPECT_GE(at, last) << mark;
    last = at;
  }
}

TEST(Page, TextInTheDocumentCannotLeaveItsPlace) {
  Json document = sample();
  const std::string nasty = "</script><script>alert(1)</script><!-- @script@ ]]> & \u2028 \" \\ <b>";
  document["verdict"] = nasty;
  document["source"] = nasty;
  document["advice"][0]["title"] = nasty;
  const std::string page = page_of_json(document);
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(page.find("<!-- @"), std::string::npos);
  EXPECT_EQ(embedded(page), document);
  EXPECT_NE(page.find("<title>Ronde report: &lt;/script&gt;&lt;script&gt;alert(1)"), std::string::npos);
}

TEST(Page, BytesThatAreNoTextBecomeAReplacement) {
  Json document = sample();
  document["source"] = "runs/\xff";
  EXPECT_EQ(embedded(page_of_json(document))["source"], "runs/\uFFFD");
}

TEST(Page, NeedsNothingFromElsewhere) {
  const std::string page = page_of_json(sample());
  for (const char* word : {"http://", "https://", "src=", "@import", "url("}) {
    std::size_t at = page.find(word);
    // The name of SVG's elements, which nobody fetches.
    while (at != std::string::npos && page.compare(at, 26, "http://www.w3.org/2000/svg") == 0)
      at = page.find(word, at + 1);
    EXPECT_EQ(at, std::string::npos) << word << " in: " << page.substr(at == std::string::npos ? 0 : at, 80);
  }
}

TEST(Page, AnythingIsAPage) {
  for (const Json& document :
       {Json(), Json::object(), Json::array(), Json("text"), Json{{"source", 7}}, Json{{"source", ""}}})
    EXPECT_NE(page_of_json(document).find("<title>Ronde report</title>"), std::string::npos) << document;
}

}  // namespace
}  // namespace ronde::report
