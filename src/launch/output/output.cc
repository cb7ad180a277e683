#include "ronde/launch/output/output.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"

namespace ronde::launch::detail {
namespace {

bool same_file(int a, int b) {
  struct stat of_a {
  }, of_b{};
  return fstat(a, &of_a) == 0 && fstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

// "12:31:02.123 ", as in our log.
std::string time_of_day() {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm local{};
  localtime_r(&seconds, &local);
  return fmt::format("{:02}:{:02}:{:02}.{:03} ", local.tm_hour, local.tm_min, local.tm_sec,
                     now.time_since_epoch().count() % 1000);
}

}  // namespace

Output::Output(const Stream& out, const Stream& err, int ranks, Display display, bool append)
    : tails_(static_cast<std::size_t>(ranks)), display_(std::move(display)), append_(append) {
  places_.push_back({Outlet(out.descriptor), Prefixer({out.color, out.terminal, out.columns})});
  if (!same_file(out.descriptor, err.descriptor))
    places_.push_back({Outlet(err.descriptor), Prefixer({err.color, err.terminal, err.columns})});
}

void Output::add(int rank, FileDescriptor out, FileDescriptor err) {
  add_source(rank, places_.front(), std::move(out), "out");
  add_source(rank, places_.back(), std::move(err), "err");
}

void Output::add_source(int rank, Place& place, FileDescriptor pipe, const char* ending) {
  if (pipe) stop_blocking(pipe.get());
  RankFile file;
  if (!display_.folder.empty()) file = RankFile(display_.folder / fmt::format("rank.{}.{}", rank, ending), append_);
  sources_.push_back({rank, &place, std::move(pipe), std::move(file)});
}

void Output::watch(Poller& poller) {
  for (Place& place : places_)
    if (!place.outlet.empty())
      poller.add(place.outlet.descriptor(), POLLOUT, [&outlet = place.outlet] { outlet.write_some(); });
  for (Source& source : sources_) {
    if (source.place->outlet.broken()) source.pipe.close();
    if (source.pipe && !source.place->outlet.full())
      poller.add(source.pipe.get(), POLLIN, [this, &source] { take_from(source); });
  }
}

bool Output::take_from(Source& source) {
  if (!source.pipe) return false;
  std::array<char, 64 << 10> bytes;
  const ssize_t got = read(source.pipe.get(), bytes.data(), bytes.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    source.pipe.close();
    source.lines.finish(writer_of(source));
    return false;
  }
  source.lines.add({bytes.data(), static_cast<std::size_t>(got)}, writer_of(source));
  return true;
}

void Output::write_line(Source& source, std::string_view line, LineEnd end) {
  const bool stays = end == LineEnd::Newline;
  const std::string stamp = display_.timestamps ? time_of_day() : "";
  if (stays) {
    tails_[static_cast<std::size_t>(source.rank)].add(line);
    if (const auto trouble = source.file.write(stamp, line)) say("ronde: " + *trouble + "\n");
  }
  if (display_.quiet && source.rank != 0) return;
  Place& place = *source.place;
  if (!place.outlet.broken()) place.prefixer.write(source.rank, line, end, place.outlet.bytes(), stamp);
}

LineSplitter::Take Output::writer_of(Source& source) {
  return [this, &source](std::string_view line, LineEnd end) { write_line(source, line, end); };
}

bool Output::ended() const {
  return std::ranges::none_of(sources_, [](const Source& source) { return static_cast<bool>(source.pipe); });
}

bool Output::written() const {
  return std::ranges::all_of(places_, [](const Place& place) { return place.outlet.empty(); });
}

void Output::finish() {
  for (Source& source : sources_) {
    while (take_from(source)) continue;
    source.pipe.close();
    source.lines.finish(writer_of(source));
  }
}

void Output::feed(int rank, bool error, std::string_view bytes) {
  Source& source = sources_[2 * static_cast<std::size_t>(rank) + (error ? 1 : 0)];
  source.lines.add(bytes, writer_of(source));
}

bool Output::full() const {
  return std::ranges::any_of(places_, [](const Place& place) { return place.outlet.full(); });
}

void Output::say(std::string_view text) {
  if (!places_.back().outlet.broken()) places_.back().outlet.bytes() += text;
}

}  // namespace ronde::launch::detail
