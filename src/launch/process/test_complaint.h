#pragma once

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

// For tests: what a user reads who has given wrong input.
namespace ronde::launch {

inline std::string complaint(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::BadInput);
    return error.what();
  }
  return "no error";
}

}  // namespace ronde::launch
