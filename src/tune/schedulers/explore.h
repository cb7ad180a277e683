#pragma once

#include <vector>

#include "ronde/tune/space/space.h"

namespace ronde::tune {

// How population-based training changes a configuration.
struct ExploreOptions {
  Json mutations = Json::object();  // by name: a distribution, a list of values, or a table of such
  double resample_probability = 0.25;
  std::vector<double> factors = {1.2, 0.8};
};

// FAILS WITH: BadInput for what is no distribution, list or table, naming its path.
void check_mutations(const Json& mutations);

// `config` with each mutated value drawn anew (with resample_probability), or multiplied by one of the factors, or, for
// a list, moved to a neighbour. Integers stay integers. Pure but for `random`.
Json explore(const Json& config, const ExploreOptions& options, Random& random);

// Fills in what `mutations` names and `config` has not: one draw each.
void draw_missing(Json& config, const Json& mutations, Random& random);

}  // namespace ronde::tune
