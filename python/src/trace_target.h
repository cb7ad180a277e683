#pragma once

#include <filesystem>
#include <memory>
#include <set>

#include "ronde/base/system/mutex.h"
#include "ronde/trace/recorder.h"

namespace ronde::python {

// Where what Python records goes: to the recorder of the session, if it has one, or to one that belongs to nobody else.
// Threads that record get a row of their own. Call with Python's lock.
class TraceTarget {
 public:
  static TraceTarget& of_process();

  trace::Recorder* recorder() const;  // none: nothing is recorded

  // Sees to it that this thread records, if anything does. False: it does not.
  bool attach_thread();

  // Records without a session; the host's name is filled in. FAILS WITH: BadInput when something records already; as
  // Recorder.
  void begin(trace::RecorderOptions options);
  void end();

  // Nobody records any more: the recorder is about to go. Names that it has kept are forgotten, and pipelines that
  // record are closed. Happens by itself before a session goes whose recorder watch_session() was called for.
  void forget();
  void watch_session();

  // A name that the recorder keeps. Equal objects are not looked up again. REQUIRES: recorder() is one; a str.
  trace::Name name(void* python_text);

 private:
  struct Thread;  // what is kept for a thread that got a row here
  struct Names;
  TraceTarget();

  std::unique_ptr<trace::Recorder> own_;
  Mutex mutex_;  // threads end without Python's lock
  std::set<Thread*> threads_ RONDE_GUARDED_BY(mutex_);
  std::unique_ptr<Names> names_;
};

}  // namespace ronde::python
