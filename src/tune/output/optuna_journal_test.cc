#include "ronde/tune/output/optuna_journal.h"

#include <sstream>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::tune {
namespace {

std::vector<Json> lines_of(const std::string& text) {
  std::vector<Json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
  return lines;
}

TEST(OptunaDistribution, IsOptunasOwn) {
  const auto text = [](const char* name, const Json& arguments) {
    return Json::parse(optuna_distribution(domain_of(name, arguments, "x")));
  };
  EXPECT_EQ(text("uniform", {0, 1}),
            (Json{{"name", "FloatDistribution"},
                  {"attributes", {{"step", nullptr}, {"low", 0.0}, {"high", 1.0}, {"log", false}}}}));
  EXPECT_EQ(text("loguniform", {0.1, 1})["attributes"]["log"], true);
  EXPECT_EQ(text("quniform", {0, 1, 0.25})["attributes"]["step"], 0.25);
  EXPECT_EQ(text("randint", {0, 8}),
            (Json{{"name", "IntDistribution"}, {"attributes", {{"step", 1}, {"low", 0}, {"high", 7}, {"log", false}}}}))
      << "Optuna's upper end is a value";
  EXPECT_EQ(text("qrandint", {0, 8, 2})["attributes"]["high"], 8);
  EXPECT_EQ(text("choice", {"a", 2, {{"b", 3}}})["attributes"]["choices"], (Json{"a", 2, R"({"b":3})"}));
  EXPECT_EQ(optuna_distribution(domain_of("randn", {0, 1}, "x")), "");
}

TEST(OptunaJournal, HasAStudyAndItsTrials) {
  SearchOptions options;
  options.space = {{"lr", {{"loguniform", {1e-4, 1}}}},
                   {"kind", {{"choice", {"plain", {{"depth", {{"randint", {1, 5}}}}}}}}},
                   {"noise", {{"randn", {0, 1}}}},
                   {"batch", {{"grid_search", {16, 32}}}},
                   {"double", {{"eval", "config.batch * 2"}}}};
  options.metric = "loss";
  options.mode = "min";
  options.samples = 3;
  options.max_failures = 0;
  options.scheduler = "asha";
  options.scheduler_options = {{"max_t", 9}, {"reduction_factor", 3}};
  Search search(options);
  for (int i = 0; i < 5; ++i) search.next();
  const auto report = [&](int trial, const Json& loss) {
    Json result = {{"loss", loss}, {"timestamp", 1700000000}};
    return search.report(trial, result, 2);
  };
  report(0, 3);
  report(0, 1);
  search.ended(0);
  ASSERT_EQ(report(1, 50).kind, Decision::Kind::Stop);
  search.ended(1);
  search.failed(2, "a reason");
  report(3, nullptr);
  search.ended(3);

  const auto lines = lines_of(optuna_journal(search, "name"));
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0], (Json{{"op_code", 0}, {"worker_id", "ronde"}, {"study_name", "name"}, {"directions", {1}}}));
  const auto states = {1, 2, 3, 3, 0};
  for (std::size_t i = 0; i < 5; ++i) {
    const Json& line = lines[i + 1];
    const Json& config = search.trials()[i].config;
    EXPECT_EQ(line["op_code"], 4);
    EXPECT_EQ(line["state"], *(states.begin() + static_cast<std::ptrdiff_t>(i))) << i;
    EXPECT_EQ(line["params"]["lr"], config["lr"]);
    EXPECT_EQ(line["params"]["batch"], config["batch"] == 16 ? 0 : 1);
    EXPECT_EQ(line["params"]["kind"], config["kind"] == "plain" ? 0 : 1);
    EXPECT_EQ(line["params"].contains("kind/depth"), config["kind"] != "plain");
    EXPECT_EQ(line["user_attrs"]["noise"], config["noise"]);
    EXPECT_FALSE(line["params"].contains("double"));
    for (const auto& [name, value] : line["params"].items()) EXPECT_TRUE(line["distributions"].contains(name));
  }
  EXPECT_EQ(lines[1]["value"], 1.0);
  EXPECT_EQ(lines[1]["intermediate_values"], (Json{{"1", 3.0}, {"2", 1.0}}));
  EXPECT_EQ(lines[1]["datetime_complete"], "2023-11-14T22:13:20.000000+00:00");
  EXPECT_EQ(lines[1]["datetime_start"], "2023-11-14T22:13:18.000000+00:00");
  EXPECT_EQ(lines[3]["user_attrs"]["error"], "a reason");
  EXPECT_FALSE(lines[3].contains("value"));
  EXPECT_TRUE(lines[5]["datetime_start"].is_null());

  options.metric.clear();
  options.scheduler = "fifo";
  options.scheduler_options = Json::object();
  EXPECT_THROW(optuna_journal(Search(options), "name"), Error);
}

}  // namespace
}  // namespace ronde::tune
