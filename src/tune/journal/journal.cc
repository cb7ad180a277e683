#include "ronde/tune/journal/journal.h"

#include <cerrno>
#include <charconv>
#include <fstream>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"

namespace ronde::tune {
namespace {

constexpr std::size_t kChecksumDigits = 8;
// Bytes that no file has, to be locked: one for who writes, and one per member after it.
constexpr off_t kWriterByte = off_t{1} << 62;
constexpr int kMaxMembers = 100'000;

std::uint32_t checksum(std::string_view text) {
  return static_cast<std::uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
}

struct flock lock_of(short type, off_t byte) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

// Whether it was locked; with F_SETLKW it waits.
bool set_lock(int descriptor, int command, short type, off_t byte, const std::filesystem::path& path) {
  struct flock lock = lock_of(type, byte);
  while (::fcntl(descriptor, command, &lock) != 0) {
    if (errno == EINTR) continue;
    if (command == F_SETLK && (errno == EACCES || errno == EAGAIN)) return false;
    throw Error::system(errno, "journal '{}' cannot be locked", path.string());
  }
  return true;
}

// The whole lines at the beginning of `text`, and what is behind them: nothing, or a last line that was cut off.
struct Cut {
  std::vector<Journal::Line> lines;
  std::string_view rest;
};

Cut cut_lines(std::string_view text, std::uint64_t lines_before, const std::filesystem::path& file) {
  Cut cut{.lines = {}, .rest = text};
  while (!cut.rest.empty()) {
    const std::size_t end = cut.rest.find('\n');
    auto line = end == std::string_view::npos ? std::nullopt : parse_journal_line(cut.rest.substr(0, end));
    if (!line) {
      // A damaged line with others behind it was not cut off.
      if (end != std::string_view::npos && end + 1 < cut.rest.size())
        throw Error::bad_input("journal '{}', line {}: damaged, or not a journal of a search", file.string(),
                               lines_before + cut.lines.size() + 1);
      return cut;
    }
    cut.lines.push_back(*std::move(line));
    cut.rest.remove_prefix(end + 1);
  }
  return cut;
}

}  // namespace

std::vector<Journal::Line> read_journal(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error::bad_input("journal '{}' cannot be opened", file.string());
  const std::string text = (std::ostringstream() << in.rdbuf()).str();
  return cut_lines(text, 0, file).lines;
}

std::string journal_line(const nlohmann::json& line) {
  const std::string text = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return fmt::format("{:08x} {}\n", checksum(text), text);
}

std::optional<nlohmann::json> parse_journal_line(std::string_view text) {
  if (text.size() < kChecksumDigits + 2 || text[kChecksumDigits] != ' ') return {};
  std::uint32_t told = 0;
  const char* const end = text.data() + kChecksumDigits;
  if (const auto [at, failure] = std::from_chars(text.data(), end, told, 16); failure != std::errc() || at != end)
    return {};
  text.remove_prefix(kChecksumDigits + 1);
  if (checksum(text) != told) return {};
  nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
  if (line.is_discarded() || !line.is_object()) return {};
  return line;
}

Journal::Journal(std::filesystem::path file)
    : path_(std::move(file)), descriptor_(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (!descriptor_) throw Error::system(errno, "journal '{}' cannot be opened", path_.string());
}

std::vector<Journal::Line> Journal::read_news() {
  struct stat facts {};
  if (::fstat(descriptor_.get(), &facts) != 0)
    throw Error::system(errno, "journal '{}' cannot be read", path_.string());
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  if (size < read_)
    throw Error::bad_input("journal '{}' has become shorter: something else has written to it", path_.string());
  std::string text(size - read_, '\0');
  for (std::size_t have = 0; have < text.size();) {
    const ssize_t got =
        ::pread(descriptor_.get(), text.data() + have, text.size() - have, static_cast<off_t>(read_ + have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw Error::system(got < 0 ? errno : EIO, "journal '{}' cannot be read", path_.string());
    have += static_cast<std::size_t>(got);
  }
  Cut cut = cut_lines(text, lines_, path_);
  if (!cut.rest.empty()) {  // whoever wrote it has ended, since we hold the lock
    dropped_ += cut.rest.size();
    if (::ftruncate(descriptor_.get(), static_cast<off_t>(size - cut.rest.size())) != 0)
      throw Error::system(errno, "journal '{}': its last line, which was cut off, cannot be removed", path_.string());
  }
  read_ += text.size() - cut.rest.size();
  lines_ += cut.lines.size();
  return std::move(cut.lines);
}

void Journal::exclusively(const std::function<void(const std::vector<Line>& news)>& body) {
  set_lock(descriptor_.get(), F_SETLKW, F_WRLCK, kWriterByte, path_);
  const auto unlock = [this] { set_lock(descriptor_.get(), F_SETLK, F_UNLCK, kWriterByte, path_); };
  try {
    body(read_news());
  } catch (...) {
    unlock();
    throw;
  }
  unlock();
}

void Journal::append(const Line& line) {
  const std::string text = journal_line(line);
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t put = ::write(descriptor_.get(), text.data() + written, text.size() - written);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      const int number = errno;
      [[maybe_unused]] const int cut = ::ftruncate(descriptor_.get(), static_cast<off_t>(read_));
      throw Error::system(number, "journal '{}' cannot be written", path_.string());
    }
    written += static_cast<std::size_t>(put);
  }
  read_ += text.size();
  ++lines_;
}

int Journal::join() {
  for (int member = 0; member < kMaxMembers; ++member)
    if (set_lock(descriptor_.get(), F_SETLK, F_WRLCK, kWriterByte + 1 + member, path_)) {
      member_ = member;
      return member;
    }
  throw Error::bad_input("journal '{}': {} processes share it already", path_.string(), kMaxMembers);
}

bool Journal::is_alive(int member) const {
  if (member_ == member) return true;
  struct flock lock = lock_of(F_WRLCK, kWriterByte + 1 + member);
  if (::fcntl(descriptor_.get(), F_GETLK, &lock) != 0)
    throw Error::system(errno, "journal '{}' cannot be locked", path_.string());
  return lock.l_type != F_UNLCK;
}

}  // namespace ronde::tune
