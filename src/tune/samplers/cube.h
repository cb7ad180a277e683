#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ronde/tune/samplers/sampler.h"

// Parameters as coordinates of the unit cube, for samplers that know nothing but points. All pure.
namespace ronde::tune {

// Those that always exist and have a range or a list: all of the space's but normal variables.
std::vector<Space::Parameter> cube_parameters(const Space& space);
// Without choices too.
std::vector<Space::Parameter> number_parameters(const Space& space);

// The values at a point; what lies outside is moved to the nearest.
std::map<std::string, Json> values_at(std::span<const Space::Parameter> parameters, std::span<const double> point);
// Where they lie; nothing when one of them is missing.
std::optional<std::vector<double>> point_of(std::span<const Space::Parameter> parameters,
                                            const std::map<std::string, Json>& values);
// The point of the values that a point stands for: in the middle of a choice's or a step's cell.
std::vector<double> snapped(std::span<const Space::Parameter> parameters, std::span<const double> point);

}  // namespace ronde::tune
