#include "ronde/comm/mpi_bootstrap.h"

#include <numeric>
#include <thread>

#include "ronde/base/error.h"
#include "ronde/comm/bootstrap/process_end.h"
#include "ronde/comm/mpi/mpi_transport.h"

namespace ronde::comm {
namespace {

using detail::MpiOwner;

class MpiBootstrap final : public Bootstrap, public detail::ProcessEnd {
 public:
  explicit MpiBootstrap(MpiOwner& owner) : owner_(owner) {}

  int rank() const override { return owner_.rank(); }
  int size() const override { return owner_.size(); }

  std::vector<std::string> exchange(const std::string& mine, Deadline until) override {
    std::vector<int> sizes(static_cast<std::size_t>(size())), offsets(sizes.size());
    const int bytes = static_cast<int>(mine.size());
    owner_.check(owner_.mpi().begin_sizes(&bytes, sizes.data()), "MPI_Iallgather");
    finish(until);
    std::exclusive_scan(sizes.begin(), sizes.end(), offsets.begin(), 0);
    std::string all(static_cast<std::size_t>(offsets.back() + sizes.back()), '\0');
    owner_.check(owner_.mpi().begin_blobs(mine.data(), bytes, all.data(), sizes.data(), offsets.data()),
                 "MPI_Iallgatherv");
    finish(until);
    std::vector<std::string> blobs;
    for (std::size_t r = 0; r < sizes.size(); ++r)
      blobs.push_back(all.substr(static_cast<std::size_t>(offsets[r]), static_cast<std::size_t>(sizes[r])));
    return blobs;
  }

  int before_end(std::vector<int> pids, std::function<void()> leave) override {
    return owner_.before_end(std::move(pids), std::move(leave));
  }
  void forget(int number) override { owner_.forget(number); }
  void note_loss() override { owner_.note_loss(); }

  std::shared_ptr<detail::Transport> transport() override { return std::make_shared<detail::MpiTransport>(owner_); }

 private:
  // MPI cannot tell who is missing.
  void finish(Deadline until) {
    constexpr int kLooks = 1000;
    for (int looks = 0;; ++looks) {
      const int done = owner_.mpi().step_done();
      if (done < 0) owner_.check(-done, "MPI_Test");
      if (done == 1) return;
      if (until.passed())
        throw Error(Error::Kind::Timeout, fmt::format("rank {} of {}: not all ranks have arrived", rank(), size()));
      if (looks > kLooks) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  MpiOwner& owner_;
};

}  // namespace

bool runs_under_mpi(const Environment& environment) {
  return detail::launched_by(environment).ranks > 0 || MpiOwner::program_has_started();
}

std::unique_ptr<Bootstrap> mpi_bootstrap(const Environment& environment, Deadline until) {
  return std::make_unique<MpiBootstrap>(MpiOwner::get(environment, until));
}

}  // namespace ronde::comm
