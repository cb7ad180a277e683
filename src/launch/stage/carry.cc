#include "ronde/launch/stage/carry.h"

#include <unistd.h>

#include <chrono>
#include <exception>
#include <thread>

#include "ronde/base/system/mutex.h"
#include "ronde/base/text/units.h"
#include "ronde/launch/process/guarded.h"
#include "ronde/launch/process/poller.h"
#include "ronde/launch/run/outcome.h"

namespace ronde::launch::detail {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr Clock::duration kBarEvery = 200ms, kLineEvery = 10s;  // at a terminal, and elsewhere
constexpr auto kNotWorthABar = 1s;

void print(int to, const std::string& text) {
  [[maybe_unused]] const auto written = write(to, text.data(), text.size());
}

std::string words_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  }
}

class Watch {
 public:
  Watch(const std::vector<Carrier>& carriers, const std::string& verb, const Stream& err, int lifeline)
      : carriers_(carriers), verb_(verb), err_(err), lifeline_(lifeline), sentences_(carriers.size()) {}

  int run() {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < carriers_.size(); ++i) threads.emplace_back([this, i] { carry_one(i); });
    while (left_ > 0) wait_once();
    threads.clear();
    const Lock lock(mutex_);
    if (bar_) print(err_.descriptor, "\x1b[K");
    if (failure_ && !signal_) std::rethrow_exception(failure_);
    if (failure_) print(err_.descriptor, words_of(failure_) + "\n");
    for (const std::string& sentence : sentences_)
      if (!sentence.empty()) print(err_.descriptor, sentence + "\n");
    if (!signal_) return 0;
    print(err_.descriptor, fmt::format("{} stopped by {}\n", verb_, name_of_signal(*signal_)));
    return 128 + *signal_;
  }

 private:
  void carry_one(std::size_t i) {
    try {
      sentences_[i] = carriers_[i](progress_, signals_);
    } catch (...) {
      const Lock lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      progress_.stop = true;
    }
    print(ended_.write.get(), "x");
  }

  void wait_once() {
    Poller poller;
    poller.add(signals_.descriptor(), POLLIN, [this] {
      if (const auto signal = signals_.next()) stop(static_cast<int>(signal->ssi_signo));
    });
    poller.add(ended_.read.get(), POLLIN, [this] {
      char byte = 0;
      if (read(ended_.read.get(), &byte, 1) == 1) --left_;
    });
    if (!progress_.stop) poller.add(lifeline_, POLLIN, [this] { stop(SIGKILL); });
    poller.wait(next_);
    if (Clock::now() >= next_) show();
  }

  void stop(int signal) {
    if (!signal_) signal_ = signal;
    progress_.stop = true;
  }

  void show() {
    const double seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
    const std::string text = describe_progress(verb_, progress_.done, progress_.total, seconds);
    print(err_.descriptor, err_.terminal ? "\x1b[K" + text + "\r" : text + "\n");
    bar_ = err_.terminal;
    next_ = Clock::now() + (err_.terminal ? kBarEvery : kLineEvery);
  }

  const std::vector<Carrier>& carriers_;
  const std::string& verb_;
  const Stream& err_;
  int lifeline_;
  Signals signals_{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1};
  Pipe ended_ = Pipe::make();
  Progress progress_;
  Mutex mutex_;
  std::exception_ptr failure_ RONDE_GUARDED_BY(mutex_);
  std::vector<std::string> sentences_;
  std::size_t left_ = carriers_.size();
  std::optional<int> signal_;
  Clock::time_point begun_ = Clock::now(), next_ = begun_ + kNotWorthABar;
  bool bar_ = false;
};

}  // namespace

int carry(const std::vector<Carrier>& carriers, const std::string& verb, const Stream& err) {
  if (carriers.empty()) return 0;
  return guarded([&](int lifeline) { return Watch(carriers, verb, err, lifeline).run(); });
}

std::string describe_progress(const std::string& verb, std::uint64_t done, std::uint64_t total, double seconds) {
  std::string text = verb + ": ";
  if (total > 0)
    text += fmt::format("{} %, {} of {}", std::min<std::uint64_t>(100, done * 100 / total), format_bytes(done),
                        format_bytes(total));
  else
    text += format_bytes(done);
  if (seconds > 0 && done > 0)
    text += fmt::format(", {}/s", format_bytes(static_cast<std::uint64_t>(static_cast<double>(done) / seconds)));
  return text;
}

}  // namespace ronde::launch::detail
