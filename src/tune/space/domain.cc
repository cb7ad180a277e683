#include "ronde/tune/space/domain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/tune/detail/normal.h"

namespace ronde::tune {
namespace {

struct Function {
  std::string_view name;
  Domain::Kind kind;
  bool log, stepped;
};

constexpr auto kFunctions = std::to_array<Function>({
    {"choice", Domain::Kind::Choice, false, false},
    {"uniform", Domain::Kind::Float, false, false},
    {"quniform", Domain::Kind::Float, false, true},
    {"loguniform", Domain::Kind::Float, true, false},
    {"qloguniform", Domain::Kind::Float, true, true},
    {"randint", Domain::Kind::Integer, false, false},
    {"lograndint", Domain::Kind::Integer, true, false},
    {"qrandint", Domain::Kind::Integer, false, true},
    {"qlograndint", Domain::Kind::Integer, true, true},
    {"randn", Domain::Kind::Normal, false, false},
    {"qrandn", Domain::Kind::Normal, false, true},
});

const Function* find_function(std::string_view name) {
  const auto* found = std::ranges::find(kFunctions, name, &Function::name);
  return found == kFunctions.end() ? nullptr : found;
}

// How a user reads it: lr: loguniform(0, 1).
[[noreturn]] void refuse(const std::string& path, const Function& function, const Json& arguments,
                         std::string_view why) {
  throw Error::bad_input("{}: {}{}: {}", path, function.name, arguments.dump(), why);
}

double number(const Json& arguments, std::size_t i, double missing) {
  return i < arguments.size() ? arguments[i].get<double>() : missing;
}

bool is_multiple(double value, double step) {
  const double times = value / step;
  return std::abs(times - std::round(times)) <= 1e-8 * std::max(1.0, std::abs(times));
}

void read_normal(Domain& domain, const Function& function, const Json& arguments, const std::string& path) {
  domain.mean = number(arguments, 0, 0);
  domain.sd = number(arguments, 1, 1);
  domain.step = function.stepped ? number(arguments, 2, 1) : 0;
  if (!(domain.sd > 0)) refuse(path, function, arguments, "the standard deviation must be above 0");
}

// Both ends become values that can be drawn.
void read_integer(Domain& domain, const Function& function, const Json& arguments, const std::string& path) {
  domain.step = function.stepped ? number(arguments, 2, 1) : 1;
  if (domain.step < 1 || domain.step != std::round(domain.step))
    refuse(path, function, arguments, "the step must be a whole number of at least 1");
  domain.low = std::ceil(domain.low / domain.step) * domain.step;
  domain.high = function.stepped ? std::floor(domain.high / domain.step) * domain.step : domain.high - 1;
  if (domain.high < domain.low) refuse(path, function, arguments, "there is no value in this range");
}

void read_float(Domain& domain, const Function& function, const Json& arguments, const std::string& path) {
  domain.step = function.stepped ? number(arguments, 2, 0) : 0;
  if (!(domain.high > domain.low)) refuse(path, function, arguments, "the upper end must be above the lower one");
  if (!function.stepped) return;
  if (!(domain.step > 0)) refuse(path, function, arguments, "the step must be above 0");
  if (!is_multiple(domain.low, domain.step) || !is_multiple(domain.high, domain.step))
    refuse(path, function, arguments, "both ends must be multiples of the step");
}

double forth(const Domain& domain, double value) {
  return domain.log ? std::log(value) : value;
}
double back(const Domain& domain, double value) {
  return domain.log ? std::exp(value) : value;
}

// Where the cells of the first and the last value end, so that each value of a step has as much room as the others.
std::pair<double, double> edges(const Domain& domain) {
  const double half = domain.step / 2;
  double low = domain.low - half;
  if (domain.log && low <= 0) low = domain.low / 2;
  return {forth(domain, low), forth(domain, domain.high + half)};
}

}  // namespace

bool is_domain_function(const std::string& name) {
  return find_function(name) != nullptr;
}

Domain domain_of(const std::string& name, const Json& arguments, const std::string& path) {
  const Function* function = find_function(name);
  if (!function) throw Error::bad_input("{}: there is no distribution '{}'", path, name);
  if (!arguments.is_array()) refuse(path, *function, arguments, "the arguments must be a list");
  Domain domain{.kind = function->kind, .log = function->log};
  if (domain.kind == Domain::Kind::Choice) {
    if (arguments.empty()) refuse(path, *function, arguments, "the list of choices is empty");
    domain.choices = arguments.get<std::vector<Json>>();
    return domain;
  }
  const bool bounded = domain.kind != Domain::Kind::Normal;
  if ((bounded && arguments.size() < 2) || arguments.size() > 3 ||
      !std::ranges::all_of(arguments, [](const Json& argument) { return argument.is_number(); }))
    refuse(path, *function, arguments, bounded ? "two or three numbers are needed" : "numbers are needed");
  if (!bounded) {
    read_normal(domain, *function, arguments, path);
    return domain;
  }
  domain.low = number(arguments, 0, 0);
  domain.high = number(arguments, 1, 0);
  if (domain.log && !(domain.low > 0)) refuse(path, *function, arguments, "the lower end must be above 0");
  if (domain.kind == Domain::Kind::Integer)
    read_integer(domain, *function, arguments, path);
  else
    read_float(domain, *function, arguments, path);
  return domain;
}

Json snap(const Domain& domain, double value) {
  if (domain.step > 0) value = std::round(value / domain.step) * domain.step;
  if (domain.kind == Domain::Kind::Integer || domain.step > 0) value = std::clamp(value, domain.low, domain.high);
  if (domain.kind == Domain::Kind::Integer) return static_cast<std::int64_t>(value);
  // The upper end of a range without steps is not a value of it.
  return std::clamp(value, domain.low, std::nextafter(domain.high, domain.low));
}

Json draw(const Domain& domain, Random& random) {
  switch (domain.kind) {
    case Domain::Kind::Choice: return domain.choices[random.below(domain.choices.size())];
    case Domain::Kind::Normal: {
      const double value = domain.mean + domain.sd * draw_normal(random);
      return domain.step > 0 ? std::round(value / domain.step) * domain.step : value;
    }
    case Domain::Kind::Integer:
      if (!domain.log) {
        const auto count = static_cast<std::uint64_t>((domain.high - domain.low) / domain.step) + 1;
        return static_cast<std::int64_t>(domain.low) +
               static_cast<std::int64_t>(random.below(count)) * static_cast<std::int64_t>(domain.step);
      }
      break;
    case Domain::Kind::Float: break;
  }
  const double u = random.uniform_double();
  // As Ray and Optuna have it: lograndint is the floor of a draw up to one past the largest value.
  const double past = domain.kind == Domain::Kind::Integer && domain.step == 1 ? domain.high + 1 : domain.high;
  const double from = forth(domain, domain.low), value = back(domain, from + u * (forth(domain, past) - from));
  return snap(domain, past > domain.high ? std::floor(value) : value);
}

double to_unit(const Domain& domain, const Json& value) {
  if (domain.kind == Domain::Kind::Choice) {
    const auto found = std::ranges::find(domain.choices, value);
    const auto index = found == domain.choices.end() ? 0 : found - domain.choices.begin();
    return (static_cast<double>(index) + 0.5) / static_cast<double>(domain.choices.size());
  }
  const auto [from, to] = edges(domain);
  return to > from ? std::clamp((forth(domain, value.get<double>()) - from) / (to - from), 0.0, 1.0) : 0.5;
}

Json from_unit(const Domain& domain, double unit) {
  unit = std::clamp(unit, 0.0, 1.0);
  if (domain.kind == Domain::Kind::Choice) {
    const auto count = domain.choices.size();
    return domain.choices[std::min(static_cast<std::size_t>(unit * static_cast<double>(count)), count - 1)];
  }
  const auto [from, to] = edges(domain);
  return snap(domain, back(domain, from + unit * (to - from)));
}

std::size_t cardinality(const Domain& domain) {
  if (domain.kind == Domain::Kind::Choice) return domain.choices.size();
  if (!domain.is_number() || domain.step <= 0) return 0;
  return static_cast<std::size_t>(std::round((domain.high - domain.low) / domain.step)) + 1;
}

}  // namespace ronde::tune
