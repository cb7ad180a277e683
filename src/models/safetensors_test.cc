#include "ronde/models/safetensors.h"

#include <cstring>
#include <fstream>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/testing/folder.h"

namespace ronde::models {
namespace {

class SafetensorsFile : public testing::Test {
 protected:
  void put(const std::string& bytes) const { std::ofstream(file_, std::ios::binary) << bytes; }
  void put(const std::string& header, std::size_t data_bytes) const {
    std::string bytes(8, '\0');
    const std::uint64_t length = header.size();
    std::memcpy(bytes.data(), &length, 8);
    put(bytes + header + std::string(data_bytes, 'v'));
  }
  std::string bytes() const {
    std::ifstream in(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string failure() const {
    try {
      read_safetensors(file_);
    } catch (const Error& error) {
      const std::string text = error.what(), name = file_.string();
      EXPECT_EQ(text.substr(0, name.size()), name);
      return text.substr(std::min(text.size(), name.size() + 2));
    }
    return "read well";
  }

  const ronde::tests::Folder kept_;
  const std::filesystem::path folder_ = kept_.path(), file_ = folder_ / "x.safetensors";
};

Safetensors some() {
  return {.tensors = {{"a", torch::arange(6).to(torch::kFloat32).view({2, 3})},
                      {"b", torch::ones({5}, torch::kUInt8)},
                      {"c", torch::tensor(3.5, torch::kFloat64)},
                      {"none", torch::empty({0, 4})}},
          .metadata = {{"format", "pt"}, {"quoted", "\"\n\u00e9"}}};
}

TEST_F(SafetensorsFile, EveryTypeComesBackBitForBit) {
  Safetensors content = some();
  for (const auto type : {torch::kBool, torch::kUInt8, torch::kInt8, torch::kInt16, torch::kInt32, torch::kInt64,
                          torch::kFloat16, torch::kBFloat16, torch::kFloat32, torch::kFloat64, torch::kComplexFloat,
                          torch::kUInt16, torch::kUInt32, torch::kUInt64, torch::kFloat8_e5m2, torch::kFloat8_e4m3fn})
    content.tensors[c10::toString(type)] = torch::arange(-3, 4).to(type);
  write_safetensors(content, file_);
  const Safetensors back = read_safetensors(file_);
  EXPECT_EQ(back.metadata, content.metadata);
  ASSERT_EQ(back.tensors.size(), content.tensors.size());
  for (const auto& [name, tensor] : content.tensors) {
    const torch::Tensor& other = back.tensors.at(name);
    EXPECT_EQ(other.scalar_type(), tensor.scalar_type()) << name;
    EXPECT_EQ(other.sizes(), tensor.sizes()) << name;
    EXPECT_EQ(std::memcmp(other.data_ptr(), tensor.data_ptr(), stored_bytes(tensor)), 0) << name;
  }
}

TEST_F(SafetensorsFile, LayoutsOfMemoryDoNotMatter) {
  const torch::Tensor plain = torch::randn({2, 3, 4, 5});
  const torch::Tensor last = plain.contiguous(torch::MemoryFormat::ChannelsLast);
  write_safetensors({.tensors = {{"last", last}, {"turned", plain.transpose(0, 3)}}}, file_);
  const auto back = read_safetensors(file_).tensors;
  EXPECT_TRUE(back.at("last").equal(plain));
  EXPECT_TRUE(back.at("turned").equal(plain.transpose(0, 3)));
}

TEST_F(SafetensorsFile, ReaderShowsEveryByteInOrder) {
  write_safetensors(some(), file_);
  std::string seen;
  read_safetensors(file_, [&](std::span<const std::byte> piece) {
    seen.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  EXPECT_EQ(seen, bytes());
  EXPECT_EQ(seen.size() % 8, 5u);  // all but the last tensor, of five bytes, are aligned
}

TEST_F(SafetensorsFile, EveryTruncationIsNoticed) {
  write_safetensors(some(), file_);
  const std::string whole = bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    put(whole.substr(0, length));
    EXPECT_THROW(read_safetensors(file_), Error) << length;
  }
  put(whole + "x");
  EXPECT_EQ(failure(), "the last tensor ends at byte 37 of the data, which has 38 bytes");
}

TEST_F(SafetensorsFile, RefusesHeadersThatCannotBe) {
  put("abc");
  EXPECT_EQ(failure(), "not a safetensors file: it has only 3 bytes");
  put(std::string(8, '\xff') + "{}");
  EXPECT_EQ(failure(),
            "not a safetensors file, or truncated: its first 8 bytes announce a header of 18446744073709551615 "
            "bytes, but 2 bytes follow");
  put("[1, 2]", 0);
  EXPECT_EQ(failure(), "its header is not a JSON object");
  put("{\"a\": ", 0);
  EXPECT_EQ(failure(), "its header is not a JSON object");
  put(R"({"__metadata__": {"a": 1}})", 0);
  EXPECT_EQ(failure(), "__metadata__ 'a' in its header is not a string");
  put(R"({"a": 5})", 0);
  EXPECT_EQ(failure(), "tensor 'a' has no valid description in the header");
  put(R"({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}})", 4);
  EXPECT_EQ(failure(), "tensor 'a' has no valid shape in the header");
  put(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0]}})", 4);
  EXPECT_EQ(failure(), "tensor 'a' has no valid data_offsets in the header");
  put(R"({"a": {"dtype": "F31", "shape": [1], "data_offsets": [0, 4]}})", 4);
  EXPECT_EQ(failure(), "tensor 'a' has the unknown type \"F31\"");
}

TEST_F(SafetensorsFile, RefusesPlacesThatCannotBe) {
  put(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})", 4);
  EXPECT_EQ(failure(), "tensor 'a' is at bytes 0 to 8 of the data, which has 4 bytes; is the file truncated?");
  put(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}})", 8);
  EXPECT_EQ(failure(), "tensor 'a' is at bytes 8 to 0 of the data, which has 8 bytes; is the file truncated?");
  put(R"({"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}})", 8);
  EXPECT_EQ(failure(), "tensor 'a' of type F32 and shape [3] cannot have 8 bytes");
  put(R"({"a": {"dtype": "F32", "shape": [4611686018427387904, 4], "data_offsets": [0, 0]}})", 0);
  EXPECT_EQ(failure(), "tensor 'a' of type F32 and shape [4611686018427387904, 4] cannot have 0 bytes");
  put(R"({"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]},
          "b": {"dtype": "U8", "shape": [4], "data_offsets": [2, 6]}})",
      6);
  EXPECT_EQ(failure(), "tensor 'b' begins at byte 2 of the data, but the one before it ends at 4");
  put(R"({"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]},
          "b": {"dtype": "U8", "shape": [1], "data_offsets": [5, 6]}})",
      6);
  EXPECT_EQ(failure(), "tensor 'b' begins at byte 5 of the data, but the one before it ends at 4");
}

TEST_F(SafetensorsFile, SaysWhatCannotBeStored) {
  EXPECT_THROW(write_safetensors({.tensors = {{"s", torch::eye(3).to_sparse()}}}, file_), Error);
  EXPECT_THROW(write_safetensors({.tensors = {{"c", torch::ones({2}, torch::kComplexDouble)}}}, file_), Error);
  EXPECT_THROW(write_safetensors(some(), folder_ / "no" / "x"), Error);
  EXPECT_THROW(read_safetensors(folder_), Error);
  EXPECT_THROW(read_safetensors(folder_ / "none"), Error);
}

}  // namespace
}  // namespace ronde::models
