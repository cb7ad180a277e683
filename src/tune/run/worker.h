#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ronde/tune/run/line_socket.h"
#include "ronde/tune/run/runner.h"

// What runs in the processes of a search. The messages, from the search:
//
//   {"op": "run", "trial": 3, "config": {...}, "folder": "...", "checkpoint": "" or a name, "iteration": 0}
//   {"op": "go", "save": true}       after a report; with "save": a checkpoint first
//   {"op": "pause"}                  save a checkpoint and end
//   {"op": "stop"}                   end
//   {"op": "exploit", "config": {...}, "checkpoint": "..."}    go on with these
//   {"op": "exit"}                   between trials: no more will come
//
// and from the process:
//
//   {"op": "report", "result": {...}, "checkpoint": "..."}     waits for an answer
//   {"op": "saved", "checkpoint": "..."}                       where "save" or "pause" asked for it
//   {"op": "ended"}                                            by itself, or as it was told
//   {"op": "failed", "error": "..."}
namespace ronde::tune {

// A network that is trained, or whatever a search is about, in Ray Tune's words. One object lives from trial to trial,
// if reset() agrees. All are called in one thread of a process of its own.
class Trainable {
 public:
  virtual ~Trainable() = default;

  virtual void setup(const Json& config) = 0;
  // One iteration. {"done": true} in what it returns ends the trial.
  virtual Json step() = 0;
  // Writes into `folder`, which exists; and reads it again, perhaps in another process.
  virtual void save(const std::filesystem::path& folder) = 0;
  virtual void load(const std::filesystem::path& folder) = 0;
  // Another configuration for the same object. False: a new one is made.
  virtual bool reset(const Json& /*config*/) { return false; }
};

using MakeTrainable = std::function<std::unique_ptr<Trainable>()>;

// Runs trials until the search says that there are no more, or is gone.
void serve(LineSocket& search, const MakeTrainable& make);

// A child of this process, in which `body` gets the socket that leads here. It dies with this process.
WorkerProcess fork_process(const std::function<void(LineSocket& search)>& body);

// A child of this process that does so: for RunOptions::start_worker. REQUIRES: this process has one thread, or the
// trainable uses nothing that the others hold.
WorkerProcess fork_worker(const MakeTrainable& make);

}  // namespace ronde::tune
