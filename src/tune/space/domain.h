#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "ronde/base/math/random.h"

namespace ronde::tune {

using Json = nlohmann::json;

// The values that one parameter may take, and how likely each is. A plain value.
struct Domain {
  enum class Kind { Float, Integer, Normal, Choice };

  Kind kind = Kind::Float;
  double low = 0;    // Float, Integer: the least value
  double high = 1;   // Integer and all that has a step: the largest value; Float without a step: above all values
  double step = 0;   // 0: any value; otherwise multiples of it
  bool log = false;  // even in the logarithm
  double mean = 0;   // Normal
  double sd = 1;
  std::vector<Json> choices = {};  // Choice; an entry may be a space of its own

  bool is_number() const { return kind == Kind::Float || kind == Kind::Integer; }
  friend bool operator==(const Domain&, const Domain&) = default;
};

// Ray Tune's functions, by name and arguments: {"loguniform": [1e-4, 1e-1]} is domain_of("loguniform", [1e-4, 1e-1]).
// `path` names the parameter in errors.
// FAILS WITH: BadInput for arguments that make no such domain.
Domain domain_of(const std::string& function, const Json& arguments, const std::string& path);

// Whether domain_of() knows the function.
bool is_domain_function(const std::string& name);

// One value, drawn at random.
Json draw(const Domain& domain, Random& random);

// --- As numbers, for samplers
// ------------------------------------------------------------------------------------------

// A number's place in its range, as 0 to 1: in the logarithm if the domain says so; values that have steps take cells
// of equal width. A choice's number, as the middle of its cell. REQUIRES: not Normal.
double to_unit(const Domain& domain, const Json& value);

// The value at that place; what is outside of 0 to 1 is moved to the nearer end.
Json from_unit(const Domain& domain, double unit);

// The nearest value of the domain. REQUIRES: is_number().
Json snap(const Domain& domain, double value);

// How many values there are; 0: too many to count.
std::size_t cardinality(const Domain& domain);

}  // namespace ronde::tune
