#include "ronde/tune/command/search_file.h"

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::tune {
namespace {

SearchFile parse(std::string_view text) {
  return search_file(read_tune_table(text, "space.toml"), "space.toml");
}

std::string refusal(std::string_view text) {
  try {
    parse(text);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    return error.message();
  }
}

TEST(SearchTable, SaysWhatIsSearchedFor) {
  const SearchFile file = parse(R"([tune]
metric = "loss"
mode = "min"
samples = 50
scheduler = "asha"
scheduler_options = {max_t = 30}
stop = {loss = 0.01}
points = [{lr = 0.1}]
concurrency = 3
trial_timeout = "5min"
time_budget = "2h"

[tune.space]
lr = {loguniform = [1e-4, 1e-1]}
model.width = {choice = [32, 64]}
)");
  EXPECT_EQ(file.options.space,
            (Json{{"lr", {{"loguniform", {1e-4, 1e-1}}}}, {"model", {{"width", {{"choice", {32, 64}}}}}}}));
  EXPECT_EQ(file.options.metric, "loss");
  EXPECT_EQ(file.options.mode, "min");
  EXPECT_EQ(file.options.samples, 50);
  EXPECT_EQ(file.options.scheduler_options, (Json{{"max_t", 30}}));
  EXPECT_EQ(file.options.stop, (Json{{"loss", 0.01}}));
  EXPECT_EQ(file.options.points, (std::vector<Json>{{{"lr", 0.1}}}));
  EXPECT_EQ(file.concurrency, 3);
  EXPECT_EQ(file.trial_timeout, std::chrono::minutes(5));
  EXPECT_EQ(file.time_budget, std::chrono::hours(2));
}

TEST(SearchTable, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(refusal("lr = 3").find("no table [tune]"), std::string::npos);
  EXPECT_NE(refusal("[tune]\nmetrik = \"loss\"\n[tune.space]").find("did you mean tune.metric?"), std::string::npos);
  EXPECT_NE(refusal("[tune]\nslots = 2\n[tune.space]").find("there is no tune.slots"), std::string::npos);
  EXPECT_NE(refusal("[tune]\nmetric = \"loss\"").find("[tune.space]"), std::string::npos);
  EXPECT_NE(refusal("[tune]\ntrial_timeout = 5\n[tune.space]").find("tune.trial_timeout"), std::string::npos);
  EXPECT_NE(refusal("[tune]\ntime_budget = \"5\"\n[tune.space]").find("tune.time_budget"), std::string::npos);
  EXPECT_NE(refusal("[tune]\nsamples = \"many\"\n[tune.space]").find("options of a search"), std::string::npos);
  EXPECT_NE(refusal("[tune]\n[tune.space]\n[train]\nepochs = 1").find("'train'"), std::string::npos);
  EXPECT_NE(refusal("[tune\n").find("space.toml:1"), std::string::npos);
}

}  // namespace
}  // namespace ronde::tune
