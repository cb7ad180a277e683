#include "ronde/data/formats/table/csv.h"

#include <gtest/gtest.h>

#include "ronde/data/formats/table/csv_parse.h"
#include "ronde/data/testing/records.h"

namespace ronde::data::files {
namespace {

using Fields = std::vector<std::string>;

Fields row_of(std::string_view text) {
  Fields fields;
  take_csv_row(text, ',', fields, "f", 1);
  return fields;
}

TEST(CsvParse, TakesQuotesAndLineEnds) {
  EXPECT_EQ(row_of("a,b,,c\r\nx"), (Fields{"a", "b", "", "c"}));
  EXPECT_EQ(row_of("\"a,\"\"b\"\"\n\",c"), (Fields{"a,\"b\"\n", "c"}));
  EXPECT_EQ(row_of("\"\"\r\n"), Fields{""});
  EXPECT_EQ(row_of("a,"), (Fields{"a", ""}));
  EXPECT_EQ(message_of([] { row_of("a,\"b"); }), "f: line 1: unterminated quotes");
  EXPECT_EQ(message_of([] { row_of("\"a\"b,c"); }), "f: line 1: unexpected text after the quotes of field 1");
  std::string_view text = "\"a\nb\",1\nc,2";
  Fields fields;
  EXPECT_EQ(take_csv_row(text, ',', fields, "f", 1), 2u);
  EXPECT_EQ(text, "c,2");
  for (const std::string field : {"plain", "a,b", "a\"b", "a\nb", ""}) {
    const std::string line = csv_field(field) + ",x\n";
    EXPECT_EQ(row_of(line), (Fields{field, "x"}));
  }
  EXPECT_EQ(guess_separator("a;\"b,,,,\";c\n,,,,"), ';');
}

class Csv : public ::testing::Test {
 protected:
  std::unique_ptr<Records> open(const std::string& text) {
    write_text(file_, text);
    return open_records({.path = file_});
  }
  std::string error(const std::string& text) {
    write_text(file_, text);
    return first_error({.path = file_});
  }
  Folder folder_;
  std::filesystem::path file_ = folder_.path() / "a.csv";
};

TEST_F(Csv, NumbersAreFeaturesAndTextsClasses) {
  const auto records = open("height,label,width\n1.5,dog,2\n-3,cat,4e3\n\n0,dog,1\n");
  ASSERT_EQ(records->size(), 3);
  EXPECT_EQ(records->classes(), (Fields{"cat", "dog"}));
  const Sample sample = records->read(1);
  EXPECT_TRUE(same(sample.at("features"), array_of<float>({2}, {-3, 4000})));
  EXPECT_EQ(class_of(sample), 0);
  EXPECT_EQ(records->where(2), file_.string() + ": line 5");
}

TEST_F(Csv, NoNamesAreNeeded) {
  const auto records = open("5.1;3.5;setosa\n4.9;3.0;versicolor\n");
  ASSERT_EQ(records->size(), 2);
  EXPECT_EQ(class_of(records->read(1)), 1);
  EXPECT_EQ(records->read(0).at("features").size(), 2u);
}

TEST_F(Csv, FilesAreReadFromTheFolderOfTheCsv) {
  write_text(folder_.path() / "p.jpg", "jpeg");
  const auto records = open("path,class\np.jpg,3\nmissing.jpg,1\n");
  EXPECT_EQ(records->read(0).at("image").text(), "jpeg");
  EXPECT_EQ(class_of(records->read(0)), 3);
  EXPECT_GE(records->bytes(0), records->read(0).bytes());
  EXPECT_EQ(message_of([&] { records->read(1); }),
            file_.string() + ": line 3: " + folder_.text() + "/missing.jpg does not exist");
}

TEST_F(Csv, BadRowsNameFileAndLine) {
  EXPECT_EQ(error("a,class\n1,2\n1,2,3\n"), file_.string() + ": line 3: 3 fields, expected 2");
  EXPECT_EQ(error("a,class\n1,2\nx,2\n"), file_.string() + ": line 3: field 1 ('a') must be a number, got 'x'");
  EXPECT_EQ(error("a,class\n1,-2\n"), file_.string() + ": line 2: class is -2, but classes count from 0");
  EXPECT_NE(error("a,class\n1,99999999\n").find("line 2: class is 99999999, but classes must be below"),
            std::string::npos);
  EXPECT_EQ(error(""), file_.string() + " is empty");
  EXPECT_EQ(error("a,class\n"), file_.string() + " holds a header line but no rows");
  EXPECT_EQ(error("a,class\n1,\"2\n"), file_.string() + ": line 2: unterminated quotes");
  write_text(file_, "a,b\n1,2\n");
  EXPECT_EQ(first_error({.path = file_, .label = "y"}), file_.string() + " has no column 'y'");
}

}  // namespace
}  // namespace ronde::data::files
