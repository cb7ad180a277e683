#include "ronde/data/formats/format_entry.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/data/source.h"

namespace ronde::data {
namespace {

// Whatever is added to the registry is held to these.
TEST(FormatEntries, AreWhole) {
  std::set<std::string_view> names;
  for (const FormatEntry& format : format_entries()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name << " is there twice";
    ASSERT_NE(format.open, nullptr) << format.name;
    ASSERT_NE(format.looks_like, nullptr) << format.name;
    EXPECT_FALSE(format.looks_like("/nowhere/at/all")) << format.name;
    EXPECT_THROW(format.open({.path = "/nowhere/at/all"}), Error) << format.name;
    const auto sources = source_names();
    EXPECT_EQ(std::ranges::count(sources, format.name), format.targets.empty() ? 0 : 1) << format.name;
    EXPECT_EQ(is_stored(format.name), !format.targets.empty()) << format.name;
  }
  EXPECT_EQ(format_entries().back().name, "images") << "any folder with folders looks like one";
}

TEST(FormatEntries, AreWhatCanBeReadAndWritten) {
  const auto written = writer_formats(), read = record_formats();
  EXPECT_EQ(read.size(), format_entries().size());
  for (const FormatEntry& format : format_entries())
    EXPECT_EQ(std::ranges::count(written, format.name), format.make_writer ? 1 : 0) << format.name;
}

}  // namespace
}  // namespace ronde::data
