#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ronde/tune/space/domain.h"

namespace ronde::tune {

// What a search may try: a tree of plain values, distributions, grids and computed values, in Ray Tune's words.
//
//   {"lr": {"loguniform": [1e-4, 1e-1]}, "model": {"width": {"choice": [64, 128]}, "depth": {"grid_search": [2, 3]}},
//    "decay": {"eval": "config.lr * 0.01"}, "epochs": 10}
//
// A path names a parameter: "model/width", "layers/0". A choice among trees has parameters of its own, which exist only
// where it was chosen ("optimizer/momentum"). A plain value; any thread may read it.
class Space {
 public:
  // How a parameter gets its value; called once per parameter that exists, outer ones first.
  using Pick = std::function<Json(const std::string& path, const Domain& domain)>;
  // What computes a value that the program computes itself ({"sample_from": 3}): the number that stands there, and all
  // values so far. It may throw, if it needs one that is not there yet.
  using Compute = std::function<Json(const Json& function, const Json& config)>;

  struct Parameter {
    std::string path;
    Domain domain;
  };

  // FAILS WITH: BadInput for a distribution that cannot be, naming its path.
  static Space parse(const Json& tree);

  // Those that always exist, in the order of their paths: what samplers that draw all values together know.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  // Whether others exist as well, depending on a choice.
  bool has_conditions() const { return has_conditions_; }
  bool has_computed() const { return has_computed_; }

  // How many points the grids make together, without those of `fixed`; 1 where there are none.
  std::size_t grid_points(const std::map<std::string, Json>& fixed = {}) const;

  // A configuration: `fixed` (path -> value) where it names a parameter, grid values of point `grid_point` of the other
  // grids (the first path varies fastest), `pick` for the rest, then what is computed from them.
  // FAILS WITH: BadInput when computed values wait for each other, or `fixed` names no parameter.
  Json resolve(std::size_t grid_point, const std::map<std::string, Json>& fixed, const Pick& pick,
               const Compute& compute = {}, const std::function<double()>& random = {}) const;

  // As it was given: parse() makes the same space of it.
  const Json& tree() const { return tree_; }

 private:
  struct Grid {
    std::string path;
    std::vector<Json> values;
  };

  void find(const Json& tree, const std::string& path);

  Json tree_;
  std::vector<Parameter> parameters_;
  std::vector<Grid> grids_;
  bool has_conditions_ = false;
  bool has_computed_ = false;
};

// The leaves of a configuration by path: {"model": {"width": 64}} gives {"model/width": 64}. Lists count as leaves
// where `lists` is not set.
std::map<std::string, Json> flatten(const Json& config, bool lists = false);

}  // namespace ronde::tune
