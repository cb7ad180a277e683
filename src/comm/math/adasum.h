#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ronde/comm/math/reduce_level.h"
#include "ronde/comm/types.h"

// Adasum of several vectors: neighbours are combined two by two, then the results of that, and so on; an odd one is
// passed on. Of two vectors a and b it is
//
//   (1 - a.b / (2 a.a)) a + (1 - a.b / (2 b.b)) b
//
// the sum of vectors that have nothing in common, the mean of vectors that are the same. Pure.
namespace ronde::comm::math {

// What the coefficients come from.
struct Products {
  double ab = 0, aa = 0, bb = 0;
};

// Of two pieces of vectors of f32 or f64, computed in f64: the same bits on every processor.
Products multiply(DType dtype, const std::byte* a, const std::byte* b, std::size_t count, Level level = best_level());

// a = adasum(a, b), given the products of the whole vectors. A vector without length adds what it has: nothing.
void add_adaptively(DType dtype, std::byte* a, const std::byte* b, std::size_t count, const Products& products,
                    Level level = best_level());

// Which part of which vector a member computes.
struct AdasumPiece {
  std::size_t vector = 0, begin = 0, count = 0;
  bool cut = false;  // others have the rest of the vector: its products are to be summed over all members
  friend bool operator==(const AdasumPiece&, const AdasumPiece&) = default;
};

// By member: its pieces of vectors of these lengths, in the vectors' order. Long vectors are cut into one piece a
// member, which depends on nothing else, so that neither does the order in which their products are summed. Short ones
// stay whole: summing three numbers for each of them, pair and member would cost more than it saves.
std::vector<std::vector<AdasumPiece>> adasum_shares(std::span<const std::size_t> lengths, int members);

// A vector is cut from this many elements a member on.
inline constexpr std::size_t kLeastCut = 256;

}  // namespace ronde::comm::math
