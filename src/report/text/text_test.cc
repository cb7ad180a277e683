#include "ronde/report/text/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "ronde/base/text/table.h"
#include "ronde/base/text/text.h"
#include "ronde/report/text/text_parts.h"

namespace ronde::report {
namespace {

using Json = nlohmann::ordered_json;

Json sample() {
  std::ifstream in(RONDE_REPORT_SAMPLE);
  return Json::parse(in);
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// The sample is hand-made: this holds it to what a real document promises.
void expect_products(const Json& node) {
  if (node.at("children").empty()) return;
  double product = 1;
  for (const Json& child : node.at("children")) {
    product *= child.at("value").get<double>();
    expect_products(child);
  }
  EXPECT_NEAR(product, node.at("value").get<double>(), 1e-9) << node.at("key");
}

TEST(TextReport, TheSampleIsConsistent) {
  const Json document = sample();
  expect_products(document["efficiency"]["tree"]);
  expect_products(document["efficiency"]["device"]);
  for (const Json& rank : document["steps"]["ranks"]) {
    double sum = 0;
    for (const char* key : {"compute", "optimizer", "exposed", "input", "idle"}) sum += rank.at(key).get<double>();
    EXPECT_NEAR(sum, rank.at("total").get<double>(), 1e-9) << rank;
  }
}

TEST(TextReport, SaysWhatTheDocumentSays) {
  const std::string text = text_report(sample(), false);
  EXPECT_TRUE(text.starts_with("POOR  Of what these 4 ranks could do, 66 % is left")) << text;
  EXPECT_TRUE(has(text, "! runs/r4/rank3.pftrace ends in the middle of a packet")) << text;
  EXPECT_TRUE(has(text, "runs/r4: recipe cifar-resnet, resnet18, on cifar10, f32, batch 256, 4 ranks, 2 nodes"))
      << text;
  EXPECT_TRUE(has(text, "      load balance         83.9 %  █████████████████████████░░░░░  most is lost here\n"))
      << text;
  EXPECT_TRUE(has(text, "   2  b2    800 ms     78 %        6 %     12 %    4 %   0 %    14 %\n")) << text;
  EXPECT_TRUE(has(text, "decode")) << text;
  EXPECT_TRUE(has(text, "\nRoofline\n  ")) << text;
  EXPECT_TRUE(has(text, "\nOperators by time\n")) << text;
  EXPECT_TRUE(has(text, "step > wait for communication  4.6 ms   25 ms      +20 ms\n")) << text;
  EXPECT_TRUE(has(text, "  1. Rank 2 (b2) is slower than all others (up to 18 % of the time)\n")) << text;
  EXPECT_TRUE(has(text, "     set     comm.fusion_bytes=128MiB, as a flag --comm-fusion-bytes 128MiB\n")) << text;
  EXPECT_TRUE(has(text, "  $ ronde bench roofline --hosts b1,b2\n")) << text;
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_TRUE(has(text_report(sample(), true), "\033[31mPOOR\033[0m  Of what"));
}

TEST(TextReport, FitsATerminal) {
  const std::string text = text_report(sample(), false);
  for (const std::string_view line : split(text, '\n')) EXPECT_LE(display_width(std::string(line)), 90U) << line;
}

TEST(TextReport, OfManyRanksThreeAreShown) {
  Json document = sample();
  const Json one = document["steps"]["ranks"][0];
  for (int rank = 4; rank < 64; ++rank) {
    document["steps"]["ranks"].push_back(one);
    document["steps"]["ranks"].back()["rank"] = rank;
  }
  document["steps"]["ranks"][40]["compute"] = 0.1;
  const std::string text = text_report(document, false);
  EXPECT_TRUE(has(text, "most work")) << text;
  EXPECT_TRUE(has(text, "    40  b1")) << text;
  EXPECT_FALSE(has(text, "\n    50  b1")) << text;
}

TEST(TextReport, AnyPartMayBeMissingOrSomethingElse) {
  const Json whole = sample();
  for (const auto& item : whole.items()) {
    for (const Json& other :
         {Json(), Json("text"), Json(7), Json::array(), Json::object(), Json::array({1, "a", nullptr})}) {
      Json document = whole;
      document[item.key()] = other;
      EXPECT_GT(text_report(document, false).size(), 500U) << item.key() << " is " << other;
    }
    Json document = whole;
    document.erase(item.key());
    EXPECT_GT(text_report(document, false).size(), 500U) << "without " << item.key();
  }
  EXPECT_EQ(text_report(Json(), false), "");
  EXPECT_EQ(text_report(Json::object(), true), "");
}

TEST(TextReport, AHealthyRunNeedsNoChange) {
  Json document = sample();
  document["advice"] = Json::array();
  EXPECT_TRUE(has(text_report(document, false), "Nothing: no rule found a loss"));
}

TEST(TextParts, WordsAreWrappedAndNeverCut) {
  const std::string text = detail::wrapped(std::string(100, 'a') + " bb " + std::string(80, 'c'), "  - ");
  EXPECT_EQ(text, "  - " + std::string(100, 'a') + "\n    bb " + std::string(80, 'c') + "\n");
  EXPECT_EQ(detail::wrapped("", "> "), "> \n");
}

TEST(TextParts, NumbersThatCannotBeAreUnknown) {
  EXPECT_EQ(detail::duration(1e300), "-");
  EXPECT_EQ(detail::duration({}), "-");
  EXPECT_EQ(detail::duration(0.0021), "2.1 ms");
  EXPECT_EQ(detail::percent(0.8393, 1), "83.9 %");
  EXPECT_EQ(detail::bar(0.5, 4), "██░░");
  EXPECT_EQ(detail::bar(7, 2), "██");
  EXPECT_EQ(detail::shortened("äöüß", 3), "äö…");
  EXPECT_EQ(detail::number_at(Json{{"x", std::nan("")}}, "x"), std::nullopt);
}

}  // namespace
}  // namespace ronde::report
