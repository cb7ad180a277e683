#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "ronde/report/advice.h"
#include "ronde/report/steps/step_buckets.h"

// For the rules of the group Communication: training waits for other ranks, because data take their time, or because it
// begins to move them late. Pure.
namespace ronde::report::rules {

inline constexpr std::uint64_t kFusion = 64 << 20;  // the default of comm.fusion_bytes

// Time that a network of no cost would save.
double transfer_seconds(const Evidence& evidence);

// Whether there is such time to speak of. If not, buckets need not be looked at.
bool waits_for_transfer(const Evidence& evidence);

// Of the run.
double share(const Evidence& evidence, double seconds);

// `initial`: where the setting is not known.
std::uint64_t bytes_setting(const Evidence& evidence, const std::string& key, std::uint64_t initial);

// The longest wait for the network.
std::optional<AdvicePlace> longest_wait(const Evidence& evidence);

// What a collective takes whatever its size, in seconds, as fitted to all of them; `otherwise` where that is not known.
double latency_of(const Evidence& evidence, double otherwise);

// Sum over steps of what a step would win on the rank that would win least: no more than it, since all wait for all.
// The last gradient must still travel after the backward pass, so the latency of one collective cannot be hidden.
double least_gain(const Evidence& evidence, double latency,
                  const std::function<double(std::size_t rank, std::size_t step)>& gain);

}  // namespace ronde::report::rules
