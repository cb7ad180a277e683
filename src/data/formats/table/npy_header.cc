#include "ronde/data/formats/table/npy_header.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/data/io/bytes.h"

namespace ronde::data::files {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;  // of the values, as NumPy has it

constexpr auto kTypes = std::to_array<std::pair<std::string_view, Type>>({{"|u1", Type::U8},
                                                                          {"|b1", Type::U8},
                                                                          {"|i1", Type::I8},
                                                                          {"<u2", Type::U16},
                                                                          {"<i2", Type::I16},
                                                                          {"<i4", Type::I32},
                                                                          {"<i8", Type::I64},
                                                                          {"<f4", Type::F32},
                                                                          {"<f8", Type::F64}});

// The dictionary in the header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class Dictionary {
 public:
  Dictionary(std::string_view text, std::size_t offset, const std::string& name)
      : text_(text), offset_(offset), name_(name) {}

  void parse() {
    expect('{');
    while (!accept('}')) {
      const std::string_view key = text();
      expect(':');
      if (key == "descr")
        descr = text();
      else if (key == "fortran_order")
        fortran = boolean();
      else if (key == "shape")
        shape = tuple();
      else
        throw wrong("'descr', 'fortran_order' or 'shape'");
      seen += std::string(key) + " ";
      if (!accept(',') && !peek('}')) throw wrong("a comma");
    }
  }

  std::string_view descr = {};
  bool fortran = false;
  Shape shape = {};
  std::string seen = {};

 private:
  Error wrong(std::string_view what) const {
    return Error::bad_input("{}: byte {}: invalid header: expected {}", name_, offset_ + at_, what);
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool peek(char letter) {
    skip();
    return at_ < text_.size() && text_[at_] == letter;
  }
  bool accept(char letter) {
    if (!peek(letter)) return false;
    ++at_;
    return true;
  }
  void expect(char letter) {
    if (!accept(letter)) throw wrong(fmt::format("'{}'", letter));
  }

  std::string_view text() {
    if (peek('['))
      throw Error::bad_input("{} holds records of several fields: save each field as an array of its own", name_);
    const char quote = peek('"') ? '"' : '\'';
    expect(quote);
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) throw wrong("the end of a text");
    return text_.substr(std::exchange(at_, end + 1), end - at_);
  }

  bool boolean() {
    skip();
    for (const auto& [word, value] : {std::pair{"True", true}, {"False", false}})
      if (text_.substr(at_).starts_with(word)) {
        at_ += std::string_view(word).size();
        return value;
      }
    throw wrong("True or False");
  }

  Shape tuple() {
    Shape numbers;
    expect('(');
    while (!accept(')')) {
      skip();
      std::size_t end = at_;
      while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9') ++end;
      const auto number = parse_number<std::int64_t>(text_.substr(at_, end - at_));
      if (!number) throw wrong("a number");
      at_ = end;
      numbers.push_back(*number);
      accept('L');  // Python 2 wrote them so
      if (!accept(',') && !peek(')')) throw wrong("a comma");
    }
    return numbers;
  }

  const std::string_view text_;
  const std::size_t offset_;
  const std::string& name_;
  std::size_t at_ = 0;
};

Type type_of_descr(std::string_view descr, const std::string& name) {
  for (const auto& [known, type] : kTypes)
    if (descr == known ||
        (descr.size() == 3 && descr[0] != '>' && size_of(type) == 1 && descr.substr(1) == known.substr(1)))
      return type;
  if (descr.starts_with('>'))
    throw Error::bad_input("{} holds big-endian numbers ({}): save it with .astype('<{}')", name, descr,
                           descr.substr(1));
  throw Error::bad_input(
      "{} holds values of the unsupported type '{}'; supported are bool, u1, i1, u2, i2, i4, i8, f4 and f8", name,
      descr);
}

}  // namespace

NpyHeader parse_npy_header(std::string_view file, const std::string& name) {
  const auto ends = [&] {
    return Error::bad_input("{}: the file ends at byte {}, inside its header", name, file.size());
  };
  if (!file.starts_with(kMagic.substr(0, std::min(kMagic.size(), file.size()))))
    throw Error::bad_input("{}: byte 0: not a NumPy file", name);
  if (file.size() < kMagic.size() + 4) throw ends();
  const auto version = static_cast<unsigned char>(file[6]);
  if (version < 1 || version > 3)
    throw Error::bad_input("{}: byte 6: NumPy file version {} is not supported, only 1 to 3", name, version);
  const std::size_t before = version == 1 ? 10 : 12;
  if (file.size() < before) throw ends();
  const std::size_t length =
      version == 1 ? detail::number_at<std::uint16_t>(file, 8) : detail::number_at<std::uint32_t>(file, 8);
  if (length > file.size() - before) throw ends();
  Dictionary header(file.substr(before, length), before, name);
  header.parse();
  for (const char* key : {"descr", "fortran_order", "shape"})
    if (header.seen.find(key) == std::string::npos) throw Error::bad_input("{}: the header has no '{}'", name, key);
  if (header.fortran && header.shape.size() > 1)
    throw Error::bad_input(
        "{} is in Fortran order, so its samples are not contiguous: save it with numpy.ascontiguousarray()", name);
  NpyHeader found{
      .type = type_of_descr(header.descr, name), .shape = std::move(header.shape), .begin = before + length};
  const std::size_t bytes = Array::view(found.type, found.shape, nullptr, nullptr).bytes();
  if (file.size() - found.begin != bytes)
    throw Error::bad_input("{}: the file ends at byte {}, but {} needs {} after its header of {}", name, file.size(),
                           to_text(found.type, found.shape), bytes, found.begin);
  return found;
}

std::string npy_header(Type type, const Shape& shape, std::size_t size) {
  const auto known = std::ranges::find(kTypes, type, &std::pair<std::string_view, Type>::second);
  std::string extents;
  for (const std::int64_t extent : shape) extents += fmt::format("{},{}", extent, shape.size() > 1 ? " " : "");
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", known->first, extents);
  while (10 + text.size() + 1 < size || (10 + text.size() + 1) % kAlignment != 0) text += ' ';
  text += '\n';
  std::string header(kMagic);
  header += std::string("\x01\x00", 2);
  detail::append_number(header, static_cast<std::uint16_t>(text.size()));
  return header + text;
}

}  // namespace ronde::data::files
