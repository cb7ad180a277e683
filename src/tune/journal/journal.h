#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "ronde/base/system/file_descriptor.h"

namespace ronde::tune {

// An append-only file of JSON lines, each with a checksum in front, which several processes may share: what a search
// has done. A line is in the file when append() returns, also if the process is killed then. A last line that was cut
// off is dropped, and told.
//
//   Journal journal(folder / "journal.jsonl");
//   journal.exclusively([&](auto& news) { for (line : news) apply(line); journal.append(mine); });
//
// One thread at a time; one Journal of a file per process, since locks of fcntl belong to the process.
class Journal {
 public:
  using Line = nlohmann::json;

  // Opens the file, or makes it. FAILS WITH: System; BadInput for a file that is no journal, or that is damaged before
  // its last line, naming that line.
  explicit Journal(std::filesystem::path file);

  // Runs `body` while no other process changes the file, with the lines that have come since the last call: at first,
  // all of them. FAILS WITH: what `body` throws, and as the constructor.
  void exclusively(const std::function<void(const std::vector<Line>& news)>& body);

  // Adds a line. REQUIRES: inside of exclusively(). FAILS WITH: System, when the disk is full for example; the line is
  // then not in the file.
  void append(const Line& line);

  // Says that this process takes part, under a number that no other living process has: until it ends, in whatever way,
  // is_alive() is true for that number. REQUIRES: inside of exclusively().
  int join();
  bool is_alive(int member) const;

  // How many bytes were dropped from the end when the file was opened: a line that was cut off.
  std::uint64_t dropped() const { return dropped_; }
  const std::filesystem::path& file() const { return path_; }

 private:
  std::vector<Line> read_news();

  std::filesystem::path path_;
  FileDescriptor descriptor_;
  std::uint64_t read_ = 0;  // bytes that have been read, all of them whole lines
  std::uint64_t lines_ = 0;
  std::uint64_t dropped_ = 0;
  std::optional<int> member_;
};

// All lines of a journal that others may be writing; what is behind the last whole one is left out. Changes nothing.
// FAILS WITH: BadInput for a file that is not there, is no journal, or is damaged before its last line.
std::vector<Journal::Line> read_journal(const std::filesystem::path& file);

// "1a2b3c4d {...}\n", and back; nothing for a line that is damaged. Pure.
std::string journal_line(const nlohmann::json& line);
std::optional<nlohmann::json> parse_journal_line(std::string_view text);

}  // namespace ronde::tune
