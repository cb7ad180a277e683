#include "ronde/tune/page/search_page.h"

#include <gtest/gtest.h>

namespace ronde::tune {
namespace {

Search searched(int trials) {
  SearchOptions options;
  options.space = {{"lr", {{"loguniform", {1e-4, 1}}}}, {"net", {{"kind", {{"choice", {"a", "b"}}}}}}, {"epochs", 3}};
  options.metric = "accuracy";
  options.samples = trials;
  Search search(std::move(options));
  for (Search::Next next = search.next(); next.trial >= 0; next = search.next()) {
    const Json& config = search.trials()[static_cast<std::size_t>(next.trial)].config;
    for (int step = 1; step <= 3; ++step) {
      Json result = {{"accuracy", step * 0.1 - std::abs(std::log10(config["lr"].get<double>()) + 2)},
                     {"timestamp", 1000 + next.trial}};
      search.report(next.trial, result, step);
    }
    search.ended(next.trial);
  }
  return search;
}

TEST(SearchPage, HasWhatWasFound) {
  const Search search = searched(60);
  const Json data = page_data(search, "my <search>");
  ASSERT_EQ(data["trials"].size(), 60u);
  EXPECT_EQ(data["best"], *search.best());
  EXPECT_EQ(data["config"]["epochs"], 3);
  ASSERT_EQ(data["parameters"].size(), 2u) << "what is the same in all trials is left out";
  EXPECT_EQ(data["parameters"][0]["path"], "lr");
  EXPECT_EQ(data["parameters"][0]["log"], true);
  EXPECT_EQ(data["parameters"][1]["choices"], (Json{"a", "b"}));
  EXPECT_GT(data["parameters"][0]["importance"], 0.8);
  EXPECT_TRUE(data["mattered"].get<std::string>().starts_with("lr tells most about which trials")) << data["mattered"];
  const Json& trial = data["trials"][7];
  ASSERT_EQ(trial["curve"].size(), 3u);
  EXPECT_NEAR(trial["curve"][2][1].get<double>() - trial["curve"][0][1].get<double>(), 0.2, 1e-9);
  EXPECT_EQ(trial["value"], trial["curve"][2][1]);
  EXPECT_EQ(trial["end"], 1007);
}

TEST(SearchPage, IsOneFileInWhichNothingOfUsersIsHtml) {
  const std::string page = search_page(searched(3), "</script><b>@document@");
  EXPECT_EQ(page.find("</script><b>"), std::string::npos);
  EXPECT_NE(page.find("<title>Search &lt;/script&gt;&lt;b&gt;@document@</title>"), std::string::npos);
  EXPECT_EQ(page.find("http://") == std::string::npos || page.find("http://www.w3.org") == page.find("http://"), true);
  for (const char* mark : {"@style@", "@script@", "@title@"}) EXPECT_EQ(page.find(mark), std::string::npos) << mark;
}

TEST(SearchPage, OfManyTrialsShowsSomeAndTheBest) {
  const Search search = searched(6000);
  const Json data = page_data(search, "many");
  EXPECT_LE(data["trials"].size(), 5000u);
  EXPECT_EQ(data["left_out"].get<std::size_t>() + data["trials"].size(), 6000u);
  bool has_best = false;
  std::size_t curves = 0;
  for (const Json& trial : data["trials"]) {
    has_best |= trial["number"] == data["best"];
    curves += trial.contains("curve");
  }
  EXPECT_TRUE(has_best);
  EXPECT_LE(curves, 300u);
}

TEST(SearchPage, OfASearchThatHasJustBegun) {
  SearchOptions options;
  options.space = {{"x", {{"uniform", {0, 1}}}}};
  options.metric = "loss";
  const Json data = page_data(Search(std::move(options)), "new");
  EXPECT_TRUE(data["trials"].empty());
  EXPECT_FALSE(data.contains("best"));
  EXPECT_EQ(data["mattered"], "");
}

}  // namespace
}  // namespace ronde::tune
