#include "ronde/tune/samplers/minimise.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

namespace ronde::tune {
namespace {

using Vector = std::vector<double>;

constexpr std::size_t kMemory = 8;
constexpr int kHalvings = 25;

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

struct Pair {
  Vector step, change;  // of the place, and of the gradient
  double rho;
};

// The gradient without what the box does not let one follow.
Vector free_part(const Vector& gradient, const Vector& at, const Box& box) {
  Vector free = gradient;
  for (std::size_t i = 0; i < free.size(); ++i)
    if ((at[i] <= box.low[i] && gradient[i] > 0) || (at[i] >= box.high[i] && gradient[i] < 0)) free[i] = 0;
  return free;
}

// Where to go, by the two loops of L-BFGS.
Vector direction(const Vector& free, const std::deque<Pair>& memory) {
  Vector q = free;
  std::vector<double> alphas(memory.size());
  for (std::size_t k = memory.size(); k-- > 0;) {
    alphas[k] = memory[k].rho * dot(memory[k].step, q);
    for (std::size_t i = 0; i < q.size(); ++i) q[i] -= alphas[k] * memory[k].change[i];
  }
  const double scale = memory.empty() ? 1 / std::max(1.0, std::sqrt(dot(free, free)))
                                      : 1 / (memory.back().rho * dot(memory.back().change, memory.back().change));
  for (double& value : q) value *= scale;
  for (std::size_t k = 0; k < memory.size(); ++k) {
    const double beta = memory[k].rho * dot(memory[k].change, q);
    for (std::size_t i = 0; i < q.size(); ++i) q[i] += (alphas[k] - beta) * memory[k].step[i];
  }
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = free[i] == 0 ? 0 : -q[i];
  return q;
}

}  // namespace

std::vector<double> minimise(const Objective& objective, std::vector<double> at, const Box& box,
                             const MinimiseOptions& options) {
  for (std::size_t i = 0; i < at.size(); ++i) at[i] = std::clamp(at[i], box.low[i], box.high[i]);
  Vector gradient(at.size()), next_gradient(at.size());
  double value = objective(at, gradient);
  std::deque<Pair> memory;
  for (int iteration = 0; iteration < options.iterations && std::isfinite(value); ++iteration) {
    const Vector free = free_part(gradient, at, box);
    const double steepest = std::transform_reduce(
        free.begin(), free.end(), 0.0, [](double a, double b) { return std::max(a, b); },
        [](double x) { return std::abs(x); });
    if (steepest < options.tolerance) break;
    Vector towards = direction(free, memory);
    if (dot(towards, free) >= 0) {
      memory.clear();
      towards = direction(free, memory);
    }
    bool is_better = false;
    Vector next;
    for (double length = 1; !is_better && length > std::ldexp(1.0, -kHalvings); length /= 2) {
      next = at;
      for (std::size_t i = 0; i < at.size(); ++i)
        next[i] = std::clamp(at[i] + length * towards[i], box.low[i], box.high[i]);
      const double there = objective(next, next_gradient);
      is_better = there <= value + 1e-4 * length * dot(towards, free) && std::isfinite(there);
      if (is_better) value = there;
    }
    if (!is_better) break;
    Pair pair{Vector(at.size()), Vector(at.size()), 0};
    for (std::size_t i = 0; i < at.size(); ++i) {
      pair.step[i] = next[i] - at[i];
      if (free[i] != 0) pair.change[i] = next_gradient[i] - gradient[i];
    }
    at = next;
    gradient = next_gradient;
    if (const double curvature = dot(pair.step, pair.change); curvature > 1e-12) {
      pair.rho = 1 / curvature;
      memory.push_back(std::move(pair));
      if (memory.size() > kMemory) memory.pop_front();
    }
  }
  return at;
}

}  // namespace ronde::tune
