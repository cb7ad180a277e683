#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

// Output of ranks as whole lines. All pure.
namespace ronde::launch::detail {

inline constexpr std::size_t kLongestLine = 1 << 20;  // a longer one is cut into several

enum class LineEnd {
  Newline,  // a line that stays
  Return,   // a progress bar: the next one takes its place
};

// Cuts the bytes of one stream into lines, whatever they are. A line that ends in \r\n, and a bar that is followed by
// \n, stay.
class LineSplitter {
 public:
  using Take = std::function<void(std::string_view line, LineEnd end)>;

  void add(std::string_view bytes, const Take& take);
  void finish(const Take& take);  // the stream has ended; what has no newline counts as a line

 private:
  void end_line(const Take& take);
  void end_bar(const Take& take);

  std::string line_;  // not ended yet
  std::string bar_;   // what a terminal would still show: the last one that \r has ended
};

// As much of a line as takes `columns` on a terminal; escape sequences take none, and those after the cut stay, for
// they may turn a colour off.
std::string fit(std::string_view line, std::size_t columns);

// Columns that a rank's number takes in front of its lines: 4 for "[0] ".
int prefix_width(int rank);

// Writes lines of all ranks to one place, each with its rank in front.
class Prefixer {
 public:
  struct Look {
    bool color = false;
    bool terminal = false;  // bars are shown; elsewhere only what stays
    int columns = 0;        // of the terminal: a bar that is wider would wrap and could not be wiped; 0: unknown
  };

  explicit Prefixer(Look look) : look_(look) {}

  // `stamp`: what stands in front of all; empty or ending in a blank.
  void write(int rank, std::string_view line, LineEnd end, std::string& to, std::string_view stamp = {});

 private:
  Look look_;
  bool bar_shown_ = false;  // the cursor stands at the start of a bar that the next line must wipe out
};

// The last lines of a rank.
class Tail {
 public:
  static constexpr std::size_t kLines = 20;
  static constexpr std::size_t kLineBytes = 4096;  // more of a line is not kept

  void add(std::string_view line);
  std::vector<std::string> lines() const { return {lines_.begin(), lines_.end()}; }

 private:
  std::deque<std::string> lines_;
};

}  // namespace ronde::launch::detail
