#pragma once

#include <chrono>
#include <cstdint>
#include <string>

// How often a checkpoint pays. All pure.
namespace ronde::train {

// What a checkpoint costs.
struct CheckpointCost {
  std::chrono::nanoseconds lost{0};   // training stood still so long,
  std::chrono::nanoseconds total{0};  // and then it was safely written
  friend bool operator==(const CheckpointCost&, const CheckpointCost&) = default;
};

// The time of computation between two checkpoints that loses least in the long run, when a checkpoint costs `cost` and
// failures come every `mtbf` on average. Young, "A first order approximation to the optimum checkpoint interval"
// (Comm. ACM 17, 1974), in the higher order of Daly, "A higher order estimate of the optimum checkpoint interval for
// restart dumps" (Future Gener. Comput. Syst. 22, 2006).
// REQUIRES: mtbf > 0.
std::chrono::nanoseconds best_interval(std::chrono::nanoseconds cost, std::chrono::nanoseconds mtbf);

// checkpoint.every = auto: what training loses by a checkpoint is its cost, and no two are written at once. A job fails
// when one of its nodes does.
std::chrono::nanoseconds chosen_interval(const CheckpointCost& cost, std::chrono::nanoseconds node_mtbf, int nodes);
std::string interval_sentence(const CheckpointCost& cost, std::chrono::nanoseconds node_mtbf, int nodes);

// Until one has been written, how long it will take: a slow disk is assumed.
std::chrono::nanoseconds guessed_time(std::uint64_t bytes);

}  // namespace ronde::train
