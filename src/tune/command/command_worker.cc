#include "ronde/tune/command/command_worker.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/launch/output/lines.h"
#include "ronde/launch/process/descendants.h"
#include "ronde/launch/process/descriptor.h"
#include "ronde/launch/process/poller.h"
#include "ronde/launch/process/signals.h"
#include "ronde/launch/process/spawn.h"
#include "ronde/launch/run/outcome.h"
#include "ronde/tune/command/placeholders.h"
#include "ronde/tune/detail/result_line.h"
#include "ronde/tune/run/worker.h"

namespace ronde::tune {
namespace {

namespace processes = launch::detail;
using Clock = std::chrono::steady_clock;

constexpr auto kKillTime = std::chrono::seconds(5);
constexpr std::size_t kTailBytes = 4096;

FileDescriptor open_log(const std::filesystem::path& file) {
  FileDescriptor log(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!log) throw Error::system(errno, "'{}' cannot be written", file.string());
  return log;
}

std::string tail_of(const std::filesystem::path& file, off_t from) {
  const FileDescriptor log(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (!log || ::fstat(log.get(), &facts) != 0) return "";
  std::string text(kTailBytes, '\0');
  const off_t start = std::max(from, facts.st_size - static_cast<off_t>(kTailBytes));
  const ssize_t got = ::pread(log.get(), text.data(), text.size(), start);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

// One attempt at one trial.
class Attempt {
 public:
  Attempt(LineSocket& search, const CommandOptions& options, const Json& order)
      : search_(search),
        options_(options),
        folder_(order.at("folder").get<std::string>()),
        trial_{.config = order.at("config"),
               .id = fmt::format("{:05d}", order.at("trial").get<int>()),
               .folder = folder_.string()} {}

  // False: the search is gone.
  bool run() {
    const processes::Signals signals({SIGCHLD});
    try {
      start(signals);
      while (pid_ > 0 || output_) step(signals);
    } catch (const std::exception& error) {
      end_what_it_started();
      search_.send({{"op", "failed"}, {"error", error.what()}});
      return true;
    }
    lines_.finish([this](std::string_view line, auto) { take_line(line); });
    end_what_it_started();
    if (is_search_gone_) return false;
    if (const auto error = failure()) return search_.send({{"op", "failed"}, {"error", *error}});
    return search_.send({{"op", "ended"}});
  }

 private:
  void start(const processes::Signals& signals) {
    processes::Program program{.path = options_.program,
                               .arguments = fill_placeholders(options_.words, trial_),
                               .environment = options_.environment};
    program.environment["TUNE_CONFIG"] = trial_.config.dump(-1, ' ', false, Json::error_handler_t::replace);
    program.environment["TUNE_TRIAL_ID"] = trial_.id;
    program.environment["TUNE_TRIAL_DIR"] = trial_.folder;
    log_ = open_log(folder_ / "stdout");
    const FileDescriptor errors = open_log(folder_ / "stderr"), null = processes::open_null();
    errors_from_ = ::lseek(errors.get(), 0, SEEK_END);
    processes::Pipe pipe = processes::Pipe::make();
    pid_ = processes::start_process(program, {.in = null.get(), .out = pipe.write.get(), .err = errors.get()}, signals);
    output_ = std::move(pipe.read);
    processes::stop_blocking(output_.get());
  }

  void step(const processes::Signals& signals) {
    processes::Poller poller;
    if (output_) poller.add(output_.get(), POLLIN, [this] { read_output(); });
    poller.add(signals.descriptor(), POLLIN, [&] {
      while (signals.next()) {
      }
    });
    if (!is_search_gone_) poller.add(search_.descriptor(), POLLIN, [this] { look_for_the_search(); });
    poller.wait(kill_at_);
    if (kill_at_ && Clock::now() >= *kill_at_ && pid_ > 0) {
      ::kill(-pid_, SIGKILL);
      kill_at_.reset();
    }
    int status = 0;
    if (pid_ <= 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return;
    outcome_ = launch::Outcome::from_status(status);
    pid_ = -1;
    read_output();
    output_.close();  // what it has left behind may hold the other end for ever
  }

  void read_output() {
    std::array<char, 1 << 16> bytes;
    while (output_) {
      const ssize_t got = ::read(output_.get(), bytes.data(), bytes.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (got <= 0) return output_.close();
      const std::string_view text(bytes.data(), static_cast<std::size_t>(got));
      [[maybe_unused]] const ssize_t written = ::write(log_.get(), text.data(), text.size());  // a full disk costs that
      lines_.add(text, [this](std::string_view line, auto) { take_line(line); });
    }
  }

  void take_line(std::string_view line) {
    if (is_stopped_) return;
    auto result = parse_result_line(line);
    if (!result) return;
    has_metric_ = has_metric_ || result->contains(options_.metric);
    has_reported_ = true;
    if (!search_.send({{"op", "report"}, {"result", std::move(*result)}})) return lose_search();
    const auto answer = search_.receive();
    if (!answer) return lose_search();
    if (answer->value("op", "") != "go") stop();
  }

  // It says nothing unless it was asked: what there is to read is its end.
  void look_for_the_search() {
    if (!search_.fill()) lose_search();
  }

  void lose_search() {
    is_search_gone_ = true;
    stop();
  }

  void stop() {
    if (std::exchange(is_stopped_, true) || pid_ <= 0) return;
    ::kill(-pid_, SIGTERM);
    kill_at_ = Clock::now() + options_.grace;
  }

  void end_what_it_started() {
    processes::end_children(Deadline::after(kKillTime));
    pid_ = -1;
  }

  std::optional<std::string> failure() const {
    if (is_stopped_) return {};
    const auto errors = folder_ / "stderr";
    if (outcome_.code != 0 || outcome_.signal != 0)
      return failure_text(describe(outcome_), tail_of(errors, errors_from_)) + fmt::format(" ({})", errors.string());
    if (!has_reported_) return "its standard output had no line of JSON";
    if (!options_.metric.empty() && !has_metric_)
      return fmt::format("none of its lines of JSON has the metric '{}'", options_.metric);
    return {};
  }

  LineSocket& search_;
  const CommandOptions& options_;
  const std::filesystem::path folder_;
  TrialWords trial_;
  FileDescriptor output_, log_;
  off_t errors_from_ = 0;  // of this attempt
  processes::LineSplitter lines_;
  pid_t pid_ = -1;
  launch::Outcome outcome_;
  bool has_reported_ = false, has_metric_ = false;
  bool is_stopped_ = false;  // it was told to end, or has no search to report to
  bool is_search_gone_ = false;
  std::optional<Clock::time_point> kill_at_;
};

}  // namespace

std::string failure_text(const std::string& how, std::string_view standard_error) {
  std::string_view last;
  for (const std::string_view line : split(standard_error, '\n'))
    if (!trim(line).empty()) last = trim(line);
  return last.empty() ? how : fmt::format("{}: {}", how, last);
}

WorkerProcess start_command_worker(const CommandOptions& options) {
  return fork_process([&](LineSocket& search) {
    options.restore_signals();
    const processes::Subreaper subreaper;
    while (const auto order = search.receive()) {
      const std::string op = order->value("op", "");
      if (op == "exit") return;
      if (op == "run" && !Attempt(search, options, *order).run()) return;
    }
  });
}

}  // namespace ronde::tune
