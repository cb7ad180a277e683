#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Messages of protocol buffers whose fields we know, with errors that say where. No lengths are believed.
namespace ronde::data::files {

// Takes the fields of a message one after the other. Points into bytes of the caller. Not thread-safe.
//
//   ProtoReader reader(bytes, "train-0.tfrecord at byte 12");
//   while (const auto field = reader.next())
//     if (field->number == 1) use(reader.bytes(*field));
class ProtoReader {
 public:
  enum class Wire : std::uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };
  struct Field {
    std::uint32_t number = 0;
    Wire wire = Wire::Varint;
    std::uint64_t value = 0;      // Varint, Fixed64, Fixed32
    std::string_view bytes = {};  // Bytes
  };

  // `name` is what errors call the message, `offset` where it begins, counted from there on.
  ProtoReader(std::string_view message, std::string name, std::size_t offset = 0);

  // Nothing at the end. FAILS WITH: BadInput: cut off, or no protocol buffer at all.
  std::optional<Field> next();

  // Where the next field begins.
  std::size_t offset() const { return offset_ + at_; }
  // Where bytes of a field begin. REQUIRES: they are of this message.
  std::size_t offset_of(std::string_view bytes) const;
  const std::string& name() const { return name_; }

  // A reader of the message inside that a field's bytes are. FAILS WITH: BadInput, when the field is no bytes.
  ProtoReader inside(const Field& field) const;
  // FAILS WITH: BadInput, when the field is of another kind.
  std::string_view bytes(const Field& field) const;
  std::uint64_t varint(const Field& field) const;

  // One number of those that lie packed in bytes. FAILS WITH: BadInput.
  std::uint64_t take_varint();
  std::uint32_t take_fixed32();
  std::uint64_t take_fixed64();
  bool done() const { return at_ == message_.size(); }
  std::size_t left() const { return message_.size() - at_; }

 private:
  std::string_view take(std::size_t bytes);
  void require(const Field& field, Wire wire) const;

  std::string_view message_;
  std::string name_;
  std::size_t offset_;
  std::size_t at_ = 0;
};

}  // namespace ronde::data::files
