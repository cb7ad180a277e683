#include "ronde/launch/horovod/horovod_shim.h"

#include <fstream>

#include <gtest/gtest.h>

#include "ronde/base/testing/folder.h"
#include "ronde/launch/process/test_complaint.h"

namespace ronde::launch {
namespace {

TEST(HorovodShim, InTheBuildFolder) {
  const tests::Folder build;
  std::filesystem::create_directories(build.path() / "python/ronde/shim/horovod");
  EXPECT_EQ(horovod_python_path(build.path() / "ronde"),
            build.text() + "/python/ronde/shim:" + build.text() + "/python");
}

TEST(HorovodShim, WherePipHasPutIt) {
  const tests::Folder packages;
  std::filesystem::create_directories(packages.path() / "ronde/shim/horovod");
  EXPECT_EQ(horovod_python_path(packages.path() / "ronde/bin/ronde"),
            packages.text() + "/ronde/shim:" + packages.text());
}

TEST(HorovodShim, ThatItIsNotThereIsSaidWithWhatToDo) {
  const tests::Folder empty;
  const std::string said = complaint([&] { horovod_python_path(empty.path() / "bin/ronde"); });
  for (const std::string& part : {empty.text() + "/bin/python/ronde/shim/horovod", empty.text() + "/shim/horovod",
                                  std::string("pip install"), std::string("--horovod")})
    EXPECT_NE(said.find(part), std::string::npos) << said;
}

TEST(HorovodShim, WhatRecordsAProgramAsItIsLiesBesideIt) {
  const tests::Folder build, packages;
  EXPECT_EQ(trace_python_path(build.path() / "ronde"), "") << "there is no Python package";
  for (const auto& folder : {build.path() / "python/ronde/shim/traced", packages.path() / "ronde/shim/traced"}) {
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "sitecustomize.py") << "pass\n";
  }
  EXPECT_EQ(trace_python_path(build.path() / "ronde"), build.text() + "/python/ronde/shim/traced");
  EXPECT_EQ(trace_python_path(packages.path() / "ronde/bin/ronde"), packages.text() + "/ronde/shim/traced");
}

TEST(HorovodShim, WhatTheUserHasOnThePathFollows) {
  EXPECT_EQ(python_path("/shim:/python", ""), "/shim:/python");
  EXPECT_EQ(python_path("/shim:/python", "/mine::/python:/other"), "/shim:/python:/mine:/other");
}

}  // namespace
}  // namespace ronde::launch
