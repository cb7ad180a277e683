#include "ronde/tune/space/space.h"

#include <set>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::tune {
namespace {

Space::Pick drawing(Random& random) {
  return [&random](const std::string&, const Domain& domain) { return draw(domain, random); };
}

TEST(Space, KnowsItsParametersByPath) {
  const Space space = Space::parse({{"lr", {{"loguniform", {1e-4, 1e-1}}}},
                                    {"model", {{"width", {{"choice", {64, 128}}}}, {"name", "mlp"}}},
                                    {"layers", {{{"randint", {1, 4}}}, 3}}});
  ASSERT_EQ(space.parameters().size(), 3u);
  EXPECT_EQ(space.parameters()[0].path, "layers/0");
  EXPECT_EQ(space.parameters()[1].path, "lr");
  EXPECT_EQ(space.parameters()[2].path, "model/width");
  EXPECT_FALSE(space.has_conditions());
  Random random(1);
  const Json config = space.resolve(0, {}, drawing(random));
  EXPECT_EQ(config["model"]["name"], "mlp");
  EXPECT_EQ(config["layers"][1], 3);
  EXPECT_TRUE(config["layers"][0].is_number_integer());
}

TEST(Space, TheFirstGridVariesFastest) {
  const Space space = Space::parse({{"b", {{"grid_search", {10, 20, 30}}}}, {"a", {{"grid", {1, 2}}}}});
  EXPECT_EQ(space.grid_points(), 6u);
  std::vector<std::pair<int, int>> seen;
  for (std::size_t i = 0; i < 6; ++i) {
    const Json config = space.resolve(i, {}, {});
    seen.emplace_back(config["a"], config["b"]);
  }
  EXPECT_EQ(seen, (std::vector<std::pair<int, int>>{{1, 10}, {2, 10}, {1, 20}, {2, 20}, {1, 30}, {2, 30}}));
  EXPECT_EQ(space.grid_points({{"a", 7}}), 3u);
  EXPECT_EQ(space.resolve(1, {{"a", 7}}, {}), Json({{"a", 7}, {"b", 20}}));
}

TEST(Space, WhatWasChosenHasParametersOfItsOwn) {
  const Space space = Space::parse(
      {{"optimizer", {{"choice", {{{"name", "adam"}}, {{"name", "sgd"}, {"momentum", {{"uniform", {0, 1}}}}}}}}}});
  EXPECT_TRUE(space.has_conditions());
  Random random(2);
  std::set<std::string> paths;
  int with = 0;
  for (int i = 0; i < 50; ++i) {
    const Json config = space.resolve(0, {}, [&](const std::string& path, const Domain& domain) {
      paths.insert(path);
      return draw(domain, random);
    });
    EXPECT_EQ(config["optimizer"].contains("momentum"), config["optimizer"]["name"] == "sgd");
    with += config["optimizer"].contains("momentum");
  }
  EXPECT_TRUE(with > 10 && with < 40) << with;
  EXPECT_EQ(paths, (std::set<std::string>{"optimizer", "optimizer/momentum"}));
}

TEST(Space, ComputesValuesFromOthersInAnyOrder) {
  const Space space = Space::parse({{"a", {{"eval", "config.b + 1"}}},
                                    {"b", {{"sample_from", "config.c * 2"}}},
                                    {"c", {{"randint", {5, 6}}}},
                                    {"d", {{"sample_from", 3}}}});
  Random random(3);
  const Json config = space.resolve(0, {}, drawing(random), [](const Json& function, const Json& so_far) {
    return Json(function.get<int>() + so_far["c"].get<int>());
  });
  EXPECT_EQ(config, Json({{"a", 11}, {"b", 10}, {"c", 5}, {"d", 8}}));
}

TEST(Space, RefusesValuesThatWaitForEachOtherAndUnknownNames) {
  const Space circle = Space::parse({{"a", {{"eval", "config.b"}}}, {"b", {{"eval", "config.a"}}}});
  EXPECT_THROW(circle.resolve(0, {}, {}), Error);
  const Space space = Space::parse({{"lr", {{"uniform", {0, 1}}}}});
  Random random(4);
  EXPECT_THROW(space.resolve(0, {{"rl", 0.5}}, drawing(random)), Error);
  EXPECT_THROW(Space::parse({{"lr", {{"uniform", {1, 0}}}}}), Error);
  EXPECT_THROW(Space::parse({{"a", {{"choice", {{{"b", {{"uniform", {1, 0}}}}}}}}}}), Error)
      << "inside of a choice, too";
  EXPECT_THROW(Space::parse({{"a", {{"grid_search", 3}}}}), Error);
  EXPECT_THROW(Space::parse({{"a", {{"eval", "1 +"}}}}), Error);
  EXPECT_THROW(Space::parse(3), Error);
}

TEST(Space, FlattensToPaths) {
  const Json config = {{"a", {{"b", 1}, {"c", {2, 3}}}}, {"d", "x"}};
  EXPECT_EQ(flatten(config), (std::map<std::string, Json>{{"a/b", 1}, {"a/c", {2, 3}}, {"d", "x"}}));
  EXPECT_EQ(flatten(config, true), (std::map<std::string, Json>{{"a/b", 1}, {"a/c/0", 2}, {"a/c/1", 3}, {"d", "x"}}));
}

}  // namespace
}  // namespace ronde::tune
