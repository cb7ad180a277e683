#pragma once

#include <gtest/gtest.h>

#include "ronde/report/compute/efficiency.h"

namespace ronde::report::testing {

// The children of every factor multiply to it.
inline void expect_products(const Factor& factor, double error) {
  if (factor.children.empty()) return;
  double product = 1;
  for (const Factor& child : factor.children) {
    product *= child.value;
    expect_products(child, error);
  }
  EXPECT_NEAR(product, factor.value, error) << factor.key;
}

}  // namespace ronde::report::testing
