#include "ronde/tune/samplers/cube.h"

namespace ronde::tune {

std::vector<Space::Parameter> cube_parameters(const Space& space) {
  std::vector<Space::Parameter> found;
  for (const Space::Parameter& parameter : space.parameters())
    if (parameter.domain.kind != Domain::Kind::Normal) found.push_back(parameter);
  return found;
}

std::vector<Space::Parameter> number_parameters(const Space& space) {
  std::vector<Space::Parameter> found;
  for (const Space::Parameter& parameter : space.parameters())
    if (parameter.domain.is_number()) found.push_back(parameter);
  return found;
}

std::map<std::string, Json> values_at(std::span<const Space::Parameter> parameters, std::span<const double> point) {
  std::map<std::string, Json> values;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    values[parameters[i].path] = from_unit(parameters[i].domain, point[i]);
  return values;
}

std::optional<std::vector<double>> point_of(std::span<const Space::Parameter> parameters,
                                            const std::map<std::string, Json>& values) {
  std::vector<double> point;
  for (const Space::Parameter& parameter : parameters) {
    const auto found = values.find(parameter.path);
    if (found == values.end() || (parameter.domain.is_number() && !found->second.is_number())) return {};
    point.push_back(to_unit(parameter.domain, found->second));
  }
  return point;
}

std::vector<double> snapped(std::span<const Space::Parameter> parameters, std::span<const double> point) {
  std::vector<double> result(point.begin(), point.end());
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (cardinality(parameters[i].domain) > 0)
      result[i] = to_unit(parameters[i].domain, from_unit(parameters[i].domain, point[i]));
  return result;
}

}  // namespace ronde::tune
