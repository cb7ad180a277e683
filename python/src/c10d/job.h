#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "../state.h"
#include "ronde/base/system/mutex.h"
#include "ronde/comm/group.h"
#include "work.h"

namespace ronde::python::c10d_backend {

using Store = c10::intrusive_ptr<::c10d::Store>;

// The settings of this process. A timeout of torch's, such as "1800s", is the engine's too, unless the user has set
// that; meeting may take as long.
Settings settings_with(const std::string& timeout);

// What all process groups of one init_process_group() share: the engine of this process, which it starts if nobody has,
// and the store by which ranks meet. Ends with the session, or ends it if it has begun it.
class Job final : public SessionUser, public std::enable_shared_from_this<Job> {
 public:
  // Call with Python's lock. `ends_session`: also one that somebody else has begun.
  // FAILS WITH: BadInput when the session that runs has other ranks; as Session.
  static std::shared_ptr<Job> begin(Store store, int rank, int size, std::chrono::milliseconds timeout,
                                    bool ends_session);
  ~Job() override;

  bool running() const { return running_; }
  // FAILS WITH: BadInput when it has ended.
  void check_running() const;

  comm::Group world() const;
  // A group of some ranks, with a number of its own in the job.
  struct Made {
    comm::Group group;
    std::int64_t number;
  };
  // The members of a group call it, the others need not. `ranks` are of the job. Without Python's lock.
  Made make_group(const std::vector<int>& ranks);
  // This rank is through with it. Its memory is used again when all members are.
  void leave_group(const Made& made);

  // Leaves the other ranks, if this has begun the session. Without Python's lock.
  void end(const std::string& why);

  // How long a wait may take that the engine itself does not limit alike.
  std::optional<std::chrono::nanoseconds> limit_for(std::chrono::milliseconds timeout) const;

  // The same for all ranks and groups.
  const Store& store() const { return store_; }
  // Which of the jobs in this store it is, from 1 on; the same on all ranks.
  std::int64_t number() const { return number_; }
  const std::shared_ptr<Completions>& completions() const { return completions_; }
  const std::shared_ptr<Abandoned>& abandoned() const { return abandoned_; }

  void session_ends() override;

 private:
  Job(Store store, bool owns, const Session& session);
  void free_what_all_left();

  const Store store_;
  const std::int64_t number_;
  const bool owns_;
  comm::Engine& engine_;  // while this runs
  const std::chrono::nanoseconds start_timeout_, stall_abort_;
  std::atomic<bool> running_ = true;
  const std::shared_ptr<Completions> completions_ = std::make_shared<Completions>();
  const std::shared_ptr<Abandoned> abandoned_ = std::make_shared<Abandoned>();
  Mutex mutex_;
  std::vector<Made> left_ RONDE_GUARDED_BY(mutex_);  // by this rank; others may still be there
};

}  // namespace ronde::python::c10d_backend
