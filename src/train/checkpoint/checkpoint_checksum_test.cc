#include "ronde/train/checkpoint/checkpoint_checksum.h"

#include <string>

#include <gtest/gtest.h>

namespace ronde::train {
namespace {

std::string checksum(const std::string& text) {
  Checksum checksum;
  checksum.add(std::as_bytes(std::span(text)));
  return checksum.text();
}

TEST(Checksum, IsWhatOtherProgramsPrint) {
  EXPECT_EQ(checksum(""), "ef46db3751d8e999");
  EXPECT_EQ(checksum("a"), "d24ec4f1a98c6e5b");
  EXPECT_EQ(checksum("abc"), "44bc2cf5ad770999");
  EXPECT_EQ(checksum("Nobody inspects the spammish repetition"), "fbcea83c8a378bf1");
}

TEST(Checksum, PiecesDoNotMatter) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  for (std::size_t piece = 1; piece < 80; ++piece) {
    Checksum parts;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      const std::string part = text.substr(at, piece);
      parts.add(std::as_bytes(std::span(part)));
    }
    EXPECT_EQ(parts.text(), checksum(text)) << piece;
  }
}

TEST(Checksum, EveryBitMatters) {
  const std::string text(77, 'x');
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string other = text;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(checksum(other), checksum(text)) << bit;
  }
}

}  // namespace
}  // namespace ronde::train
