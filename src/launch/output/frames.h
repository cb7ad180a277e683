#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "ronde/launch/run/outcome.h"

// Output of a rank on its way through another launcher, which may cut and mix streams wherever it likes, except inside
// what was written at once. So everything is sent as frames: a line of text each, short enough for every launcher
// (Slurm cuts at 1024 bytes), that begins with a byte that no sane program prints and says whose it is. All pure.
namespace ronde::launch::detail {

inline constexpr std::size_t kLongestFrame = 1000;

enum class RankStream { Out, Err };

// Bytes of a rank, as frames.
void add_frames(int rank, RankStream stream, std::string_view bytes, std::string& to);

// How a rank ended. `stopped`: because it was told to.
struct RankEnd {
  int rank = 0;
  Outcome outcome;
  bool stopped = false;
  std::string host;
  friend bool operator==(const RankEnd&, const RankEnd&) = default;
};
std::string end_frame(const RankEnd& end);

// Takes a stream apart that has frames of many ranks and words of the launcher itself.
class FrameReader {
 public:
  struct Takers {
    std::function<void(int rank, RankStream stream, std::string_view bytes)> bytes;
    std::function<void(const RankEnd& end)> end;
    std::function<void(std::string_view line)> words;  // the launcher's own, without the newline
  };

  explicit FrameReader(Takers takers) : takers_(std::move(takers)) {}

  void add(std::string_view bytes);
  void finish();  // the stream has ended

 private:
  void take_line(std::string_view line);
  bool take_frame(std::string_view frame);

  Takers takers_;
  std::string line_;
};

}  // namespace ronde::launch::detail
