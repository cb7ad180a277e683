#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

namespace ronde::trace {

// What a span, counter, category or argument is called. A Name is one pointer to text that stays; the writer turns
// equal texts into one small number per file. So nothing is looked up where events are recorded, and no table is
// shared.
//
//   Name("reduce")                       a literal, checked by the compiler
//   recorder.intern("layer3.weight")     text made at run time; kept until that recorder goes
//
// A plain value; any thread may use it. REQUIRES: a Name from intern() is recorded only by the recorder that made it.
class Name {
 public:
  constexpr Name() = default;
  // Only constants get through consteval, and a constant pointer can only point at text that stays.
  consteval Name(const char* literal) : text_(literal) {}  // NOLINT(google-explicit-constructor)

  constexpr bool empty() const { return text_ == nullptr; }
  constexpr const char* text() const { return text_; }

 private:
  friend class Recorder;
  struct Kept {};
  constexpr Name(const char* text, Kept) : text_(text) {}

  const char* text_ = nullptr;
};

// One argument of an event: {"bucket", 3}, {"ratio", 0.5}, {"phase", "vote"}, or Arg::flow(id).
class Arg {
 public:
  enum class Kind : std::uint8_t { Int, Double, Text, Flow };

  template <std::integral T>
  constexpr Arg(Name key, T value) : Arg(Kind::Int, key, static_cast<std::uint64_t>(value)) {}
  constexpr Arg(Name key, double value) : Arg(Kind::Double, key, std::bit_cast<std::uint64_t>(value)) {}
  Arg(Name key, Name text) : Arg(Kind::Text, key, reinterpret_cast<std::uintptr_t>(text.text())) {}

  // Draws an arrow between the events that carry the same id (not 0), on any thread or rank.
  static constexpr Arg flow(std::uint64_t id) { return {Kind::Flow, Name(), id}; }

  Kind kind() const { return kind_; }
  const char* key() const { return key_; }
  std::uint64_t bits() const { return bits_; }  // the value as its kind stores it

 private:
  constexpr Arg(Kind kind, Name key, std::uint64_t bits) : key_(key.text()), bits_(bits), kind_(kind) {}

  const char* key_;
  std::uint64_t bits_;
  Kind kind_;
};

}  // namespace ronde::trace
