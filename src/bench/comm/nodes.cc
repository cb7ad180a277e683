// Allreduce between nodes. Every rank of a job runs this, started by whatever starts ranks on several nodes; the first
// one tells the others what to do and prints. Contestants alternate, and each is made anew for its turn: an engine and
// MPI's own allreduce must not call MPI at the same time.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/base/settings/environment.h"
#include "ronde/base/settings/settings.h"
#include "ronde/base/system/clock.h"
#include "ronde/bench/benchmarks.h"
#include "ronde/bench/comm/costs.h"
#include "ronde/bench/detail/lent.h"
#include "ronde/comm/bench/link_bench.h"
#include "ronde/comm/engine.h"
#include "ronde/comm/mpi_bootstrap.h"
#include "ronde/comm/socket_bootstrap.h"

namespace ronde::bench {
namespace {

using namespace std::chrono_literals;

constexpr auto kStartTime = 60s;
constexpr double kTurnUs = 400'000;  // that one size takes in one turn, about
constexpr int kMostRounds = 300;

using Allreduce = std::function<void(std::vector<float>&)>;
struct Racer {
  std::string name;
  std::function<Allreduce()> make;
};

class Race {
 public:
  explicit Race(const Options& options)
      : options_(options), bootstrap_(comm::bootstrap_from(Environment::of_process(), Deadline::after(kStartTime))) {
    settings_ = comm::engine_options(Settings::load(Environment::of_process(), {}));
    settings_.stall_warn = 24h;
    comm::Engine engine(std::make_unique<detail::Lent>(bootstrap_), settings_);
    nodes_ = engine.nodes();
  }

  Report run() {
    if (nodes_ < 2)
      throw Error::bad_input(
          "bench nodes needs ranks on several nodes: ronde run -H node1:2,node2:2 ronde bench nodes; to simulate nodes "
          "on one machine: ronde run -n 4 --topology-pretend-nodes 2 ronde bench nodes");
    const std::vector<Racer> racers = make_racers();
    auto sizes = options_.sizes;
    if (sizes.empty()) sizes = {4, 1 << 10, 32 << 10, 256 << 10, 1 << 20, 8 << 20, 64 << 20};
    std::map<std::size_t, std::map<std::string, std::vector<double>>> times;
    for (int turn = 0; turn < options_.turns; ++turn)
      for (const Racer& racer : racers) {
        const Allreduce allreduce = racer.make();
        for (const std::size_t bytes : sizes) times[bytes][racer.name].push_back(time(allreduce, bytes));
      }
    Report report{.name = "nodes"};
    if (bootstrap_->rank() != 0) return report;
    for (const std::size_t bytes : sizes) report.rows.push_back(row(bytes, racers, times[bytes]));
    report.sections = detail::cost_sections(report.rows, nodes_);
    return report;
  }

 private:
  std::vector<Racer> make_racers() {
    std::vector<Racer> racers;
    racers.push_back({"median_us", [this] { return by_name(); }});
    racers.push_back({"link_us", [this] { return link({}); }});
    for (const char* algorithm : {"gather", "direct", "ring", "halving", "doubling"})
      racers.push_back({fmt::format("{}_us", algorithm), [=, this] { return link({.algorithm = algorithm}); }});
    if (comm::runs_under_mpi(Environment::of_process())) {
      racers.push_back({"tcp_us", [this] { return link({.tcp_only = true}); }});
      racers.push_back({"mpi_us", [] {
                          return [](std::vector<float>& values) { comm::mpi_allreduce(values.data(), values.size()); };
                        }});
    }
    return racers;
  }

  Allreduce by_name() {
    auto engine = std::make_shared<comm::Engine>(std::make_unique<detail::Lent>(bootstrap_), settings_);
    return [engine](std::vector<float>& values) {
      engine->world().run({.name = fmt::format("{} values", values.size()), .input = comm::buffer_of(values)});
    };
  }

  Allreduce link(comm::BareLink::Options options) {
    options.pretend_nodes = settings_.pretend_nodes;
    options.interfaces = settings_.interfaces;
    auto bare = std::make_shared<comm::BareLink>(*bootstrap_, options, Deadline::after(kStartTime));
    return [bare](std::vector<float>& values) {
      bare->allreduce(values.data(), values.size() * sizeof(float), comm::DType::F32);
    };
  }

  // In microseconds, as the first rank sees it.
  double time(const Allreduce& allreduce, std::size_t bytes) {
    std::vector<float> values(std::max<std::size_t>(1, bytes / sizeof(float)), 1.0F);
    for (int i = 0; i < 2; ++i) allreduce(values);
    if (const auto right = static_cast<float>(bootstrap_->size() * bootstrap_->size()); values.back() != right)
      throw Error(Error::Kind::Bug, fmt::format("wrong sum: got {}, expected {}", values.back(), right));
    std::ranges::fill(values, 0.0F);  // a sum of sums soon overflows
    const double first = timed(allreduce, values, 1);
    const int wanted = std::clamp(static_cast<int>(kTurnUs / first), 1, kMostRounds);
    const int rounds = std::stoi(bootstrap_->exchange(std::to_string(wanted), Deadline()).front());
    for (int i = 0; i < std::min(rounds, 3); ++i) allreduce(values);  // ranks come from the exchange one by one
    return timed(allreduce, values, rounds);
  }

  static double timed(const Allreduce& allreduce, std::vector<float>& values, int rounds) {
    const auto begin = monotonic_now();
    for (int i = 0; i < rounds; ++i) allreduce(values);
    return std::chrono::duration<double, std::micro>(monotonic_now() - begin).count() / rounds;
  }

  nlohmann::ordered_json row(std::size_t bytes, const std::vector<Racer>& racers,
                             std::map<std::string, std::vector<double>>& times) {
    nlohmann::ordered_json row{
        {"ranks", bootstrap_->size()}, {"nodes", nodes_}, {"bytes", bytes}, {"dtype", "f32"}, {"memory", "heap"}};
    for (const Racer& racer : racers) {
      auto& list = times[racer.name];
      std::ranges::sort(list);
      row[racer.name] = list[list.size() / 2];
    }
    if (row.contains("mpi_us")) {
      row["ratio_mpi"] = row["mpi_us"].get<double>() / row["median_us"].get<double>();
      row["ratio_link_mpi"] = row["mpi_us"].get<double>() / row["link_us"].get<double>();
    }
    return row;
  }

  const Options& options_;
  std::shared_ptr<comm::Bootstrap> bootstrap_;
  comm::EngineOptions settings_;
  int nodes_ = 1;
};

}  // namespace

Report run_nodes(const Options& options) {
  return Race(options).run();
}

}  // namespace ronde::bench
