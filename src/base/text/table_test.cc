#include "ronde/base/text/table.h"

#include <gtest/gtest.h>

namespace ronde {
namespace {

TEST(Table, AlignsColumnsAndCutsTrailingBlanks) {
  Table table({{"bytes", Align::Right}, {"link"}});
  table.add({"4", "shm"});
  table.add({"1048576", "é"});
  EXPECT_EQ(table.text(2), "    bytes  link\n        4  shm\n  1048576  é\n");
}

TEST(Table, DropsColumnsThatSayNothing) {
  Table table({{"rank"}, {"GPU"}, {"network card"}});
  table.add({"0", "", "ib0"});
  table.add({"1", "", ""});
  EXPECT_EQ(table.drop_empty_columns().text(), "rank  network card\n0     ib0\n1\n");
}

TEST(Table, CountsCharactersNotBytes) {
  EXPECT_EQ(display_width("└─ é"), 4u);
}

}  // namespace
}  // namespace ronde
