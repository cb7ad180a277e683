#include "ronde/tune/schedulers/explore.h"

#include <algorithm>
#include <cmath>

#include "ronde/base/error.h"

namespace ronde::tune {
namespace {

bool is_distribution(const Json& mutation) {
  return mutation.is_object() && mutation.size() == 1 && is_domain_function(mutation.begin().key());
}

Json draw_one(const Json& mutation, const std::string& name, Random& random) {
  if (mutation.is_array()) return mutation[random.below(mutation.size())];
  return draw(domain_of(mutation.begin().key(), mutation.begin().value(), name), random);
}

// One place to the left or to the right; it stays where the list ends.
Json neighbour(const Json& list, const Json& value, Random& random) {
  const auto found = std::ranges::find(list, value);
  const auto at = found - list.begin(), last = static_cast<std::ptrdiff_t>(list.size()) - 1;
  return list[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(at + (random.below(2) == 0 ? -1 : 1), 0, last))];
}

Json scaled(const Json& value, const std::vector<double>& factors, Random& random, const std::string& name) {
  if (!value.is_number())
    throw Error::bad_input("{}: {} cannot be multiplied; give a list of values", name, value.dump());
  const double product = value.get<double>() * factors[random.below(factors.size())];
  return value.is_number_integer() ? Json(static_cast<std::int64_t>(product)) : Json(product);
}

}  // namespace

void check_mutations(const Json& mutations) {
  for (const auto& [name, mutation] : mutations.items()) {
    if (is_distribution(mutation))
      domain_of(mutation.begin().key(), mutation.begin().value(), name);
    else if (mutation.is_object())
      check_mutations(mutation);
    else if (!mutation.is_array() || mutation.empty())
      throw Error::bad_input("hyperparam_mutations: {} must be a distribution, a list of values or a table, got {}",
                             name, mutation.dump());
  }
}

Json explore(const Json& config, const ExploreOptions& options, Random& random) {
  Json changed = config;
  for (const auto& [name, mutation] : options.mutations.items()) {
    Json& value = changed[name];
    if (mutation.is_object() && !is_distribution(mutation)) {
      ExploreOptions inner = options;
      inner.mutations = mutation;
      value = explore(value, inner, random);
      continue;
    }
    const bool is_foreign = mutation.is_array() && std::ranges::find(mutation, value) == mutation.end();
    if (random.uniform_double() < options.resample_probability || is_foreign)
      value = draw_one(mutation, name, random);
    else
      value = mutation.is_array() ? neighbour(mutation, value, random) : scaled(value, options.factors, random, name);
  }
  return changed;
}

void draw_missing(Json& config, const Json& mutations, Random& random) {
  for (const auto& [name, mutation] : mutations.items()) {
    if (mutation.is_object() && !is_distribution(mutation)) {
      if (!config.contains(name)) config[name] = Json::object();
      draw_missing(config[name], mutation, random);
    } else if (!config.contains(name)) {
      config[name] = draw_one(mutation, name, random);
    }
  }
}

}  // namespace ronde::tune
