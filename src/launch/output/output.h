#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/launch/output/lines.h"
#include "ronde/launch/output/outlet.h"
#include "ronde/launch/place/rank_file.h"
#include "ronde/launch/process/descriptor.h"
#include "ronde/launch/process/poller.h"
#include "ronde/launch/run/job.h"

namespace ronde::launch::detail {

// The way from the pipes of all ranks to the launcher's own output. A reader that is slow makes ranks wait when they
// write; one that is gone makes them find a broken pipe, as if they had written there themselves.
class Output {
 public:
  // `append`: files of an earlier attempt are gone on with, not begun anew.
  // FAILS WITH: BadInput for a folder that cannot be made.
  Output(const Stream& out, const Stream& err, int ranks, Display display = {}, bool append = false);

  // The reading ends of a rank's pipes.
  void add(int rank, FileDescriptor out, FileDescriptor err);

  void watch(Poller& poller);
  bool ended() const;    // all pipes are closed at the other end
  bool written() const;  // nothing waits to be written

  // Takes what is still in the pipes and closes them; lines without an end count as whole.
  void finish();

  // Bytes of a rank that come by another way than its pipes, which are then none ({}).
  // REQUIRES: ranks were added in their order.
  void feed(int rank, bool error, std::string_view bytes);
  bool full() const;  // no more should be fed before some is written

  // The launcher's own words, to the error stream.
  void say(std::string_view text);

  std::vector<std::string> last_lines(int rank) const { return tails_[static_cast<std::size_t>(rank)].lines(); }

 private:
  struct Place {
    Outlet outlet;
    Prefixer prefixer;
  };
  struct Source {
    int rank;
    Place* place;
    FileDescriptor pipe;
    RankFile file;
    LineSplitter lines = {};
  };

  void add_source(int rank, Place& place, FileDescriptor pipe, const char* ending);
  bool take_from(Source& source);  // false: nothing there now, or closed
  void write_line(Source& source, std::string_view line, LineEnd end);
  LineSplitter::Take writer_of(Source& source);

  std::deque<Place> places_;  // one only, when both streams go to the same file: lines must not mix there
  std::deque<Source> sources_;
  std::vector<Tail> tails_;
  Display display_;
  bool append_;
};

}  // namespace ronde::launch::detail
