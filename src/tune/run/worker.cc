#include "ronde/tune/run/worker.h"

#include <cerrno>
#include <csignal>
#include <exception>
#include <utility>

#include <sys/prctl.h>
#include <unistd.h>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"

namespace ronde::tune {
namespace {

// One trial after the other.
class Server {
 public:
  Server(LineSocket& search, const MakeTrainable& make) : search_(search), make_(make) {}

  void run(const Json& order) {
    folder_ = order.at("folder").get<std::string>();
    iteration_ = order.value("iteration", 0);
    try {
      begin(order.at("config"), order.value("checkpoint", ""));
      while (one_step()) {
      }
    } catch (const std::exception& error) {
      trainable_.reset();  // what it left behind is not to be trusted
      search_.send({{"op", "failed"}, {"error", error.what()}});
    }
  }

 private:
  void begin(const Json& config, const std::string& checkpoint) {
    if (!trainable_ || !trainable_->reset(config)) {
      trainable_ = make_();
      trainable_->setup(config);
    }
    if (!checkpoint.empty()) trainable_->load(checkpoint);
  }

  // False: the trial has ended, or the search has.
  bool one_step() {
    Json result = trainable_->step();
    ++iteration_;
    if (!result.is_object()) throw Error::bad_input("a step must give a table of results, got {}", result.dump());
    if (!search_.send({{"op", "report"}, {"result", std::move(result)}})) return false;
    const auto answer = search_.receive();
    if (!answer) return false;
    const std::string op = answer->value("op", "");
    if (op == "go") {
      if (answer->value("save", false)) save();
      return true;
    }
    if (op == "exploit") {
      begin(answer->at("config"), answer->value("checkpoint", ""));
      return true;
    }
    if (op == "pause") save();
    search_.send({{"op", "ended"}});
    return false;
  }

  void save() {
    const auto folder = folder_ / fmt::format("checkpoint_{:06d}", iteration_);
    std::filesystem::create_directories(folder);
    trainable_->save(folder);
    search_.send({{"op", "saved"}, {"checkpoint", folder.string()}});
  }

  LineSocket& search_;
  const MakeTrainable& make_;
  std::unique_ptr<Trainable> trainable_;
  std::filesystem::path folder_;
  int iteration_ = 0;
};

}  // namespace

void serve(LineSocket& search, const MakeTrainable& make) {
  Server server(search, make);
  while (const auto order = search.receive()) {
    const std::string op = order->value("op", "");
    if (op == "exit") return;
    if (op == "run") server.run(*order);
  }
}

WorkerProcess fork_process(const std::function<void(LineSocket& search)>& body) {
  auto [mine, theirs] = socket_pair();
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0) throw Error::system(errno, "a process that runs trials cannot be started");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    mine.close();
    LineSocket search(std::move(theirs));
    try {
      body(search);
      ::_exit(0);
    } catch (...) {
      ::_exit(1);
    }
  }
  return {child, std::move(mine)};
}

WorkerProcess fork_worker(const MakeTrainable& make) {
  return fork_process([&](LineSocket& search) { serve(search, make); });
}

}  // namespace ronde::tune
