#include "ronde/bench/training/models.h"

#include <set>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::bench::detail {
namespace {

TEST(Models, HaveTheParametersOfTheOriginals) {
  struct Known {
    const char* name;
    std::size_t tensors, elements;
  };
  for (const auto& [name, tensors, elements] :
       {Known{"resnet50", 161, 25'557'032}, Known{"bert-base", 199, 109'482'240}, Known{"many-small", 4000, 16'000}}) {
    const auto parameters = parameters_of(name);
    EXPECT_EQ(parameters.size(), tensors) << name;
    EXPECT_EQ(elements_of(parameters), elements) << name;
    std::set<std::string> names;
    for (const Parameter& parameter : parameters) EXPECT_TRUE(names.insert(parameter.name).second) << parameter.name;
  }
}

TEST(Models, AnUnknownOneListsThem) {
  try {
    parameters_of("resnet51");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    EXPECT_STREQ(error.what(), "unknown model 'resnet51'; choose one of resnet50, bert-base, many-small");
  }
}

}  // namespace
}  // namespace ronde::bench::detail
