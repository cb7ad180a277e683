#include "ronde/tune/space/space.h"

#include <algorithm>
#include <exception>
#include <set>

#include "ronde/base/error.h"
#include "ronde/tune/space/expression.h"

namespace ronde::tune {
namespace {

constexpr int kPasses = 20;  // of computed values that read each other, as in Ray Tune

std::string join(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "/" + name;
}

// {"uniform": [0, 1]}: one key, which is the name of a function. Nothing for any other tree.
const std::string* function_of(const Json& tree) {
  if (!tree.is_object() || tree.size() != 1) return nullptr;
  const std::string& name = tree.begin().key();
  const bool known =
      is_domain_function(name) || name == "grid_search" || name == "grid" || name == "eval" || name == "sample_from";
  return known ? &name : nullptr;
}

bool is_grid(const std::string& name) {
  return name == "grid_search" || name == "grid";
}
bool is_computed(const std::string& name) {
  return name == "eval" || name == "sample_from";
}

// A value of the space, not a space: choices of plain values have no conditions.
bool is_plain(const Json& tree) {
  if (function_of(tree)) return false;
  return !tree.is_structured() || std::ranges::all_of(tree, [](const Json& part) { return is_plain(part); });
}

const Json& grid_values(const Json& tree, const std::string& path) {
  const Json& values = tree.begin().value();
  if (!values.is_array() || values.empty()) throw Error::bad_input("{}: grid_search needs a list of values", path);
  return values;
}

// Where a computed value is to be put.
struct Computed {
  Json::json_pointer place;
  std::string path;
  Json argument;
};

class Resolver {
 public:
  Resolver(const std::map<std::string, Json>& grid, const std::map<std::string, Json>& fixed, const Space::Pick& pick)
      : grid_(grid), fixed_(fixed), pick_(pick) {}

  Json resolve(const Json& tree, const std::string& path) {
    if (const std::string* function = function_of(tree)) return value_of(*function, tree, path);
    if (!tree.is_structured()) return tree;
    Json result = tree;
    if (tree.is_object())
      for (const auto& [name, part] : tree.items()) result[name] = resolve(part, join(path, name));
    else
      for (std::size_t i = 0; i < tree.size(); ++i) result[i] = resolve(tree[i], join(path, std::to_string(i)));
    return result;
  }

  std::vector<Computed>& computed() { return computed_; }
  std::size_t used_fixed() const { return used_fixed_; }

 private:
  Json value_of(const std::string& function, const Json& tree, const std::string& path) {
    if (const auto fixed = fixed_.find(path); fixed != fixed_.end()) {
      ++used_fixed_;
      return fixed->second;
    }
    if (is_grid(function)) return resolve(grid_.at(path), path);
    if (is_computed(function)) {
      computed_.push_back({Json::json_pointer("/" + path), path, tree.begin().value()});
      return nullptr;
    }
    // A choice among trees draws on, in the tree that was chosen.
    return resolve(pick_(path, domain_of(function, tree.begin().value(), path)), path);
  }

  const std::map<std::string, Json>& grid_;
  const std::map<std::string, Json>& fixed_;
  const Space::Pick& pick_;
  std::vector<Computed> computed_;
  std::size_t used_fixed_ = 0;
};

// One computed value. FAILS WITH: BadInput when it needs one that has no value yet, and with what `compute` throws.
Json value_of(const Computed& one, const Json& config, const std::set<std::string>& waiting,
              const Space::Compute& compute, const std::function<double()>& random) {
  const auto look_up = [&](const std::string& path) -> Json {
    const Json::json_pointer place("/" + path);
    if (!config.contains(place) || waiting.contains(path))
      throw Error::bad_input("{} needs {}, which has no value", one.path, path);
    return config[place];
  };
  if (one.argument.is_string()) return evaluate(one.argument.get<std::string>(), look_up, random);
  if (!compute) throw Error::bad_input("{}: sample_from needs an expression in text", one.path);
  return compute(one.argument, config);
}

// In passes: what cannot be computed yet waits for the next one.
void compute_all(Json& config, std::vector<Computed> left, const Space::Compute& compute,
                 const std::function<double()>& random) {
  std::set<std::string> waiting;
  for (const Computed& one : left) waiting.insert(one.path);
  std::exception_ptr last;
  for (int pass = 0; pass < kPasses && !left.empty(); ++pass)
    std::erase_if(left, [&](const Computed& one) {
      try {
        config[one.place] = value_of(one, config, waiting, compute, random);
        waiting.erase(one.path);
        return true;
      } catch (...) {
        last = std::current_exception();
        return false;
      }
    });
  if (!left.empty()) std::rethrow_exception(last);
}

}  // namespace

void Space::find(const Json& tree, const std::string& path) {
  if (const std::string* function = function_of(tree)) {
    const Json& argument = tree.begin().value();
    if (is_grid(*function)) {
      const Json& values = grid_values(tree, path);
      grids_.push_back({path, values.get<std::vector<Json>>()});
      has_conditions_ = has_conditions_ || !is_plain(values);
    } else if (is_computed(*function)) {
      has_computed_ = true;
      if (argument.is_string()) check_expression(argument.get<std::string>());
    } else {
      parameters_.push_back({path, domain_of(*function, argument, path)});
      const Domain& domain = parameters_.back().domain;
      if (domain.kind == Domain::Kind::Choice && !is_plain(argument)) {
        has_conditions_ = true;
        Space inner;
        for (const Json& choice : domain.choices) inner.find(choice, path);  // for its errors alone
      }
    }
    return;
  }
  if (tree.is_object())
    for (const auto& [name, part] : tree.items()) find(part, join(path, name));
  else if (tree.is_array())
    for (std::size_t i = 0; i < tree.size(); ++i) find(tree[i], join(path, std::to_string(i)));
}

Space Space::parse(const Json& tree) {
  if (!tree.is_object())
    throw Error::bad_input("a search space must be a table of parameters, got {}", tree.type_name());
  Space space;
  space.tree_ = tree;
  space.find(tree, "");
  std::ranges::sort(space.parameters_, {}, &Parameter::path);
  std::ranges::sort(space.grids_, {}, &Grid::path);
  return space;
}

std::size_t Space::grid_points(const std::map<std::string, Json>& fixed) const {
  std::size_t points = 1;
  for (const Grid& grid : grids_)
    if (!fixed.contains(grid.path)) points *= grid.values.size();
  return points;
}

Json Space::resolve(std::size_t grid_point, const std::map<std::string, Json>& fixed, const Pick& pick,
                    const Compute& compute, const std::function<double()>& random) const {
  std::map<std::string, Json> grid;
  for (const Grid& each : grids_) {
    if (fixed.contains(each.path)) continue;
    grid[each.path] = each.values[grid_point % each.values.size()];
    grid_point /= each.values.size();
  }
  Resolver resolver(grid, fixed, pick);
  Json config = resolver.resolve(tree_, "");
  if (resolver.used_fixed() < fixed.size() && !has_conditions_) {
    for (const auto& [path, value] : fixed)
      if (!config.contains(Json::json_pointer("/" + path)))
        throw Error::bad_input("{}: no such parameter in the search space", path);
  }
  compute_all(config, resolver.computed(), compute, random);
  return config;
}

std::map<std::string, Json> flatten(const Json& config, bool lists) {
  std::map<std::string, Json> leaves;
  const std::function<void(const Json&, const std::string&)> walk = [&](const Json& tree, const std::string& path) {
    if (tree.is_object() && !tree.empty()) {
      for (const auto& [name, part] : tree.items()) walk(part, join(path, name));
    } else if (lists && tree.is_array() && !tree.empty()) {
      for (std::size_t i = 0; i < tree.size(); ++i) walk(tree[i], join(path, std::to_string(i)));
    } else {
      leaves[path] = tree;
    }
  };
  walk(config, "");
  return leaves;
}

}  // namespace ronde::tune
