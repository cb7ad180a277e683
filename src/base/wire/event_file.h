#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// What a file for TensorBoard holds: records (tfrecord.h) of tensorflow.Event, in protobuf's wire format. All pure but
// event_file_name().
namespace ronde {

std::string version_event(double wall_time);  // the first of a file
// What older files of the folder say of this step and later ones is to be forgotten.
std::string restart_event(double wall_time, std::int64_t first_step);
std::string scalars_event(double wall_time, std::int64_t step,
                          const std::vector<std::pair<std::string, double>>& scalars);

// For the tab HPARAMS: what this run was started with, and how it ended.
using Hyperparameter = std::pair<std::string, std::variant<double, bool, std::string>>;
enum class SessionEnd { Success = 1, Failure = 2 };
std::string session_start_event(double wall_time, const std::vector<Hyperparameter>& hyperparameters);
std::string session_end_event(double wall_time, SessionEnd how);

// A name that no other file of a folder has. TensorBoard takes every file whose name has "tfevents" in it, in the order
// of the names: so the time comes first.
std::string event_file_name();

}  // namespace ronde
