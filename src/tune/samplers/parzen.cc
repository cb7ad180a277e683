#include "ronde/tune/samplers/parzen.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "ronde/tune/detail/normal.h"

namespace ronde::tune {
namespace {

constexpr std::size_t kNew = 25;  // observations that count fully

double forth(const Domain& domain, double value) {
  return domain.log ? std::log(value) : value;
}

double mass_between(double low, double high) {
  return low > 0 ? normal_below(-low) - normal_below(-high) : normal_below(high) - normal_below(low);
}

double log_of(double mass) {
  return std::log(std::max(mass, 1e-300));
}

// The inverse of normal_below(), by Acklam's approximation and one step of Halley's.
double quantile(double p) {
  constexpr double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                          1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02, 6.680131188771972e+01,
                          -1.328068155288572e+01};
  constexpr double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                          -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00};
  if (p <= 0) return -HUGE_VAL;
  if (p >= 1) return HUGE_VAL;
  if (p > 0.5) return -quantile(1 - p);
  double x = 0;
  if (p < 0.02425) {
    const double q = std::sqrt(-2 * std::log(p));
    x = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
        ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
  } else {
    const double q = p - 0.5, r = q * q;
    x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
        (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
  }
  const double e = normal_below(x) - p, u = e * std::sqrt(2 * std::numbers::pi) * std::exp(x * x / 2);
  return x - u / (1 + x * u / 2);
}

double draw_truncated(double centre, double width, double low, double high, Random& random) {
  const double from = (low - centre) / width, to = (high - centre) / width, u = random.uniform_double();
  // In the tail where the digits are.
  const double x = from > 0 ? -quantile(normal_below(-from) - u * (normal_below(-from) - normal_below(-to)))
                            : quantile(normal_below(from) + u * (normal_below(to) - normal_below(from)));
  return std::clamp(centre + width * x, low, high);
}

}  // namespace

std::vector<double> weights_by_age(std::size_t count) {
  std::vector<double> weights(count, 1);
  if (count < kNew) return weights;
  const std::size_t old = count - kNew;
  for (std::size_t i = 0; i < old; ++i) {
    const double first = 1.0 / static_cast<double>(count);
    weights[i] = old == 1 ? first : first + (1 - first) * static_cast<double>(i) / static_cast<double>(old - 1);
  }
  return weights;
}

double Parzen::coordinate(const Domain& domain, const Json& value) {
  if (domain.kind != Domain::Kind::Choice) return forth(domain, value.get<double>());
  const auto found = std::ranges::find(domain.choices, value);
  return static_cast<double>(found == domain.choices.end() ? 0 : found - domain.choices.begin());
}

Json Parzen::value(const Domain& domain, double coordinate) {
  if (domain.kind == Domain::Kind::Choice) return domain.choices[static_cast<std::size_t>(coordinate)];
  return snap(domain, domain.log ? std::exp(coordinate) : coordinate);
}

// Each is as wide as the larger distance to its neighbours, the ends of the range being neighbours, too; but the first
// and the last have one neighbour only.
void Parzen::add_numbers(Dimension& dimension, std::span<const std::map<std::string, Json>* const> observed,
                         const std::string& path) const {
  const Domain& domain = dimension.domain;
  const double half = domain.step / 2;
  dimension.low = forth(domain, domain.log && domain.low <= half ? domain.low / 2 : domain.low - half);
  dimension.high = forth(domain, domain.high + half);
  const double range = dimension.high - dimension.low;
  const std::size_t count = observed.size();
  for (const auto* values : observed) dimension.centre.push_back(coordinate(domain, values->at(path)));
  dimension.width.resize(count);
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return dimension.centre[i]; });
  for (std::size_t i = 0; i < count; ++i) {
    const double here = dimension.centre[order[i]];
    const double left = here - (i > 0 ? dimension.centre[order[i - 1]] : dimension.low);
    const double right = (i + 1 < count ? dimension.centre[order[i + 1]] : dimension.high) - here;
    double width = std::max(left, right);
    if (count > 1 && i == 0) width = right;
    if (count > 1 && i + 1 == count) width = left;
    dimension.width[order[i]] = width;
  }
  dimension.centre.push_back((dimension.low + dimension.high) / 2);
  dimension.width.push_back(range);
  const double least = range / std::min(100.0, 2.0 + static_cast<double>(count));
  for (std::size_t i = 0; i <= count; ++i) {
    dimension.width[i] = std::clamp(dimension.width[i], least, range);
    dimension.log_mass.push_back(log_of(mass_between((dimension.low - dimension.centre[i]) / dimension.width[i],
                                                     (dimension.high - dimension.centre[i]) / dimension.width[i])));
  }
}

void Parzen::add_choices(Dimension& dimension, std::span<const std::map<std::string, Json>* const> observed,
                         const std::string& path) const {
  const std::size_t choices = dimension.domain.choices.size(), count = observed.size();
  const double prior = 1.0 / static_cast<double>(count + 1);
  for (std::size_t i = 0; i <= count; ++i) {
    std::vector<double> weights(choices, prior);
    if (i < count) weights[static_cast<std::size_t>(coordinate(dimension.domain, observed[i]->at(path)))] += 1;
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (const double weight : weights) dimension.chances.push_back(weight / sum);
  }
}

Parzen::Parzen(std::span<const Space::Parameter> parameters,
               std::span<const std::map<std::string, Json>* const> observed) {
  weight_ = weights_by_age(observed.size());
  weight_.push_back(1);
  const double sum = std::accumulate(weight_.begin(), weight_.end(), 0.0);
  for (double& weight : weight_) log_weight_.push_back(std::log(weight /= sum));
  for (const Space::Parameter& parameter : parameters) {
    Dimension& dimension = dimensions_.emplace_back();
    dimension.domain = parameter.domain;
    if (parameter.domain.kind == Domain::Kind::Choice)
      add_choices(dimension, observed, parameter.path);
    else
      add_numbers(dimension, observed, parameter.path);
  }
}

std::vector<double> Parzen::draw(Random& random) const {
  double u = random.uniform_double();
  std::size_t component = 0;
  while (component + 1 < weight_.size() && u >= weight_[component]) u -= weight_[component++];
  std::vector<double> point;
  for (const Dimension& dimension : dimensions_) {
    if (dimension.domain.kind != Domain::Kind::Choice) {
      const double drawn = draw_truncated(dimension.centre[component], dimension.width[component], dimension.low,
                                          dimension.high, random);
      point.push_back(coordinate(dimension.domain, value(dimension.domain, drawn)));
      continue;
    }
    const std::size_t choices = dimension.domain.choices.size();
    double left = random.uniform_double();
    std::size_t choice = 0;
    while (choice + 1 < choices && left >= dimension.chances[component * choices + choice])
      left -= dimension.chances[component * choices + choice++];
    point.push_back(static_cast<double>(choice));
  }
  return point;
}

double Parzen::log_density(std::span<const double> point) const {
  std::vector<double> parts(log_weight_);
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    const Dimension& dimension = dimensions_[d];
    if (dimension.domain.kind == Domain::Kind::Choice) {
      const std::size_t choices = dimension.domain.choices.size();
      for (std::size_t i = 0; i < parts.size(); ++i)
        parts[i] += std::log(dimension.chances[i * choices + static_cast<std::size_t>(point[d])]);
      continue;
    }
    // A value of a step stands for its cell.
    const double step = dimension.domain.step, here = dimension.domain.log ? std::exp(point[d]) : point[d];
    const double from =
        std::max(dimension.low,
                 forth(dimension.domain,
                       dimension.domain.log ? std::max(here - step / 2, dimension.domain.low / 2) : here - step / 2));
    const double to = std::min(dimension.high, forth(dimension.domain, here + step / 2));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const double centre = dimension.centre[i], width = dimension.width[i];
      if (step > 0) {
        parts[i] += log_of(mass_between((from - centre) / width, (to - centre) / width)) - dimension.log_mass[i];
      } else {
        const double x = (point[d] - centre) / width;
        parts[i] += -x * x / 2 - std::log(width * std::sqrt(2 * std::numbers::pi)) - dimension.log_mass[i];
      }
    }
  }
  const double most = std::ranges::max(parts);
  double sum = 0;
  for (const double part : parts) sum += std::exp(part - most);
  return most + std::log(sum);
}

}  // namespace ronde::tune
