#include "ronde/comm/link/shm/arena.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde::comm::detail {
namespace {

constexpr std::size_t kBytes = 1 << 20;

struct Shared {
  FileDescriptor file = Mapping::make_file(kBytes);
  Mapping memory = Mapping::of_file(file.get(), kBytes);
};

TEST(Mapping, TwoMappingsOfOneFileAreTheSameMemory) {
  Shared shared;
  const Mapping other = Mapping::of_file(shared.file.get(), kBytes);
  shared.memory.data()[5000] = std::byte{42};
  EXPECT_EQ(other.data()[5000], std::byte{42});
  shared.memory.discard(4096, 4096);
  EXPECT_EQ(other.data()[5000], std::byte{0});
}

TEST(Arena, PiecesAreApartAlignedAndOutsideTheReserve) {
  Shared shared;
  Arena arena(shared.memory, 100);
  std::byte* small = arena.allocate(1);
  std::byte* next = arena.allocate(100);
  std::byte* large = arena.allocate(5000);
  EXPECT_GE(small - shared.memory.data(), 100);
  EXPECT_EQ((next - small) % 64, 0);
  EXPECT_GE(next - small, 64);
  EXPECT_EQ((large - shared.memory.data()) % 4096, 0);
}

TEST(Arena, KnowsWhatLiesInIt) {
  Shared shared;
  Arena arena(shared.memory, 0);
  std::byte* piece = arena.allocate(256);
  EXPECT_EQ(arena.offset_of(piece, 256), static_cast<std::size_t>(piece - shared.memory.data()));
  EXPECT_EQ(arena.offset_of(&shared, 1), std::nullopt);
  EXPECT_EQ(arena.offset_of(shared.memory.data() + kBytes - 1, 2), std::nullopt);
}

TEST(Arena, RefusesWhatItHasNotAndForgetsNothing) {
  Shared shared;
  Arena arena(shared.memory, 0);
  EXPECT_THROW(arena.allocate(kBytes + 1), Error);
  std::byte* all = arena.allocate(kBytes);
  EXPECT_THROW(arena.allocate(1), Error);
  EXPECT_THROW(arena.free(all + 64), Error) << "not a piece of its own";
  arena.free(all);
  EXPECT_EQ(arena.allocate(kBytes), all) << "after everything is back it is one piece again";
}

TEST(Arena, RandomUseNeverOverlapsAndEndsWhole) {
  Shared shared;
  Arena arena(shared.memory, 0);
  std::mt19937 random(7);
  std::map<std::byte*, std::size_t> mine;
  for (int i = 0; i < 3000; ++i) {
    if (mine.empty() || random() % 3) {
      const std::size_t bytes = 1 + random() % (random() % 2 ? 200 : 9000);
      try {
        std::byte* piece = arena.allocate(bytes);
        std::memset(piece, static_cast<int>(i % 251), bytes);
        mine.emplace(piece, bytes);
      } catch (const Error&) {  // full: only frees can follow
      }
    }
    if (random() % 2 && !mine.empty()) {
      const auto victim = std::next(mine.begin(), static_cast<long>(random() % mine.size()));
      for (std::size_t b = 1; b < victim->second; ++b) ASSERT_EQ(victim->first[b], victim->first[0]);
      arena.free(victim->first);
      mine.erase(victim);
    }
  }
  for (const auto& [piece, bytes] : mine) arena.free(piece);
  EXPECT_NO_THROW(arena.allocate(kBytes));
}

TEST(Arena, ZeroedMemoryIsZeroWhateverItWasUsedForBefore) {
  const Mapping memory = Mapping::of_file(Mapping::make_file(1 << 20).get(), 1 << 20);
  Arena arena(memory, 64);
  for (const std::size_t bytes : {100u, 5000u}) {
    std::vector<std::byte*> small;
    for (int i = 0; i < 100; ++i) small.push_back(arena.allocate(100));
    for (std::byte* piece : small) std::fill_n(piece, 100, std::byte{0xff});
    for (std::byte* piece : small) arena.free(piece);
    std::byte* clean = arena.allocate_zeroed(bytes);
    EXPECT_TRUE(std::all_of(clean, clean + bytes, [](std::byte value) { return value == std::byte{0}; }));
    arena.free(clean);
  }
}

}  // namespace
}  // namespace ronde::comm::detail
