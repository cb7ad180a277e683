#include "ronde/data/formats/table/npy.h"

#include <gtest/gtest.h>

#include "ronde/data/formats/table/npy_header.h"
#include "ronde/data/testing/records.h"

namespace ronde::data::files {
namespace {

std::string npy(const std::string& dictionary, const std::string& values, int version = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  file += static_cast<char>(dictionary.size());
  file += std::string(version == 1 ? 1 : 3, '\0');
  return file + dictionary + values;
}

TEST(Npy, HeadersOfAllVersionsAreRead) {
  for (const int version : {1, 2, 3}) {
    const NpyHeader header =
        parse_npy_header(npy("{'descr': '<i2', 'fortran_order': False, 'shape': (2, 1), }\n", "abcd", version), "f");
    EXPECT_EQ(header.type, Type::I16);
    EXPECT_EQ(header.shape, (Shape{2, 1}));
  }
  EXPECT_EQ(parse_npy_header(npy("{\"shape\": (3,), \"descr\": \"|b1\", \"fortran_order\": False}", "abc"), "f").type,
            Type::U8);
  // As numpy 1.24 saved np.arange(3, dtype='<f4').
  std::string saved("\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 67);
  saved += std::string(60, ' ') + "\n" + std::string(12, '\0');
  EXPECT_EQ(parse_npy_header(saved, "f").begin, 128u);
  EXPECT_EQ(npy_header(Type::F32, {3}), saved.substr(0, 128));
}

TEST(Npy, WhatCannotBeReadSaysWhy) {
  const auto error = [](const std::string& file) { return message_of([&] { parse_npy_header(file, "f"); }); };
  EXPECT_EQ(error("hello there"), "f: byte 0: not a NumPy file");
  EXPECT_EQ(error(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }", "abcd")),
            "f is in Fortran order, so its samples are not contiguous: save it with numpy.ascontiguousarray()");
  EXPECT_EQ(error(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "abcd")),
            "f holds big-endian numbers (>f4): save it with .astype('<f4')");
  EXPECT_NE(error(npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "abcd")).find("'|O'"),
            std::string::npos);
  EXPECT_NE(
      error(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "abcd")).find("several fields"),
      std::string::npos);
  EXPECT_EQ(error(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "abcd")),
            "f: the file ends at byte 71, but f32[2] needs 8 after its header of 67");
  EXPECT_NE(error(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9), }", "abcd"))
                .find("invalid array shape"),
            std::string::npos);
  EXPECT_EQ(error(npy("{'descr': '<f4', 'shape': (1,), }", "abcd")), "f: the header has no 'fortran_order'");
  EXPECT_EQ(error(npy("", "", 9)), "f: byte 6: NumPy file version 9 is not supported, only 1 to 3");
}

TEST(Npy, AFolderIsOneArrayAFile) {
  const Folder folder;
  write_text(folder.path() / "x.npy", npy_header(Type::U8, {2, 1, 2}) + "abcd");
  write_text(folder.path() / "y.npy", npy_header(Type::I32, {2}) + std::string("\1\0\0\0\0\0\0\0", 8));
  write_text(folder.path() / "extra.npy", npy_header(Type::F64, {2, 0}));
  write_text(folder.path() / "classes.txt", "no\nyes\n");
  const auto records = open_records({.path = folder.path()});
  ASSERT_EQ(records->size(), 2);
  EXPECT_EQ(records->read(1).at("image").text(), "cd");
  EXPECT_EQ(records->read(1).at("image").shape(), (Shape{1, 2, 1}));
  EXPECT_EQ(class_of(records->read(0)), 1);
  EXPECT_EQ(records->read(0).at("extra").size(), 0u);
  EXPECT_EQ(records->classes(), (std::vector<std::string>{"no", "yes"}));

  write_text(folder.path() / "z.npy", npy_header(Type::U8, {3}) + "abc");
  EXPECT_NE(first_error({.path = folder.path()}).find("z.npy holds 3"), std::string::npos);
}

TEST(Npy, EveryCutIsAnError) {
  const Folder folder;
  const auto file = folder.path() / "x.npy";
  write_text(file, npy_header(Type::F32, {2, 3}) + std::string(24, 'f'));
  EXPECT_EQ(check_cuts(file, {.path = file}), "");
}

TEST(Npy, ClassesThatCannotBeAreRefused) {
  const Folder folder;
  write_text(folder.path() / "x.npy", npy_header(Type::U8, {1, 1}) + "a");
  write_text(folder.path() / "labels.npy", npy_header(Type::I8, {1}) + "\xff");
  EXPECT_EQ(first_error({.path = folder.path()}), folder.text() + " (sample 0): class is -1, but classes count from 0");
}

}  // namespace
}  // namespace ronde::data::files
