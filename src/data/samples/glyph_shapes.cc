#include "ronde/data/samples/glyph_shapes.h"

#include <string_view>

#include "ronde/data/order/random.h"

namespace ronde::data::detail {
namespace {

// Pairs of digits are points (x to the right, y down); a bar lifts the pen.
constexpr auto kAlphabet = std::to_array<std::string_view>({
    "062046|1434",                // A
    "06003041423303|3344453606",  // B
    "4130100105163645",           // C
    "00204244260600",             // D
    "40000646|0333",              // E
    "400006|0333",                // F
    "41301001051636454323",       // G
    "0006|4046|0343",             // H
    "1030|2026|1636",             // I
    "4045361605",                 // J
    "0006|400346",                // K
    "000646",                     // L
    "0600234046",                 // M
    "06004640",                   // N
    "103041453616050110",         // O
    "06003041423303",             // P
    "103041453616050110|2446",    // Q
    "06003041423303|2346",        // R
    "413010010213334445361605",   // S
    "0040|2026",                  // T
    "000516364540",               // U
    "002640",                     // V
    "0016233640",                 // W
    "0046|4006",                  // X
    "002340|2326",                // Y
    "00400646",                   // Z
});
static_assert(kAlphabet.size() == kLetters);

Point centred(int x, int y) {
  return {static_cast<float>(x - 2), static_cast<float>(y - 3)};
}

Shape drawn(std::string_view text) {
  Shape shape;
  for (std::size_t i = 0; i + 3 < text.size();) {
    if (text[i + 2] == '|') {
      i += 3;
      continue;
    }
    const auto point = [&](std::size_t at) { return centred(text[at] - '0', text[at + 1] - '0'); };
    shape.add({point(i), point(i + 2)});
    i += 2;
  }
  return shape;
}

Shape made_up(std::int64_t label) {
  Random random(0x7369676e, static_cast<std::uint64_t>(label));
  const auto point = [&] {
    const int x = static_cast<int>(random.below(5));
    return centred(x, static_cast<int>(random.below(7)));
  };
  Shape shape;
  const std::uint64_t strokes = 2 + random.below(2);
  for (std::uint64_t stroke = 0; stroke < strokes; ++stroke) {
    Point pen = point();
    const std::uint64_t lines = 2 + random.below(2);
    for (std::uint64_t line = 0; line < lines; ++line) {
      const Point before = pen;
      while (pen == before) pen = point();
      shape.add({before, pen});
    }
  }
  return shape;
}

}  // namespace

Shape shape_of_class(std::int64_t label) {
  return label < kLetters ? drawn(kAlphabet[static_cast<std::size_t>(label)]) : made_up(label);
}

}  // namespace ronde::data::detail
