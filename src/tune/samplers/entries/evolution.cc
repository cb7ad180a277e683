#include <algorithm>
#include <iterator>
#include <optional>
#include <span>

#include "ronde/tune/detail/normal.h"
#include "ronde/tune/samplers/sampler.h"
#include "ronde/tune/schedulers/scheduler.h"

// Regularised evolution (Real et al., arXiv 1802.01548): the population is the newest trials; the best of a few of them
// has a child that differs in one value. What depends on a choice is inherited too, so it searches over structures.
namespace ronde::tune {
namespace {

constexpr double kStep = 0.1;  // of a number that moves on, as a share of its range

bool fits(const Domain& domain, const Json& value) {
  if (domain.kind == Domain::Kind::Choice) return std::ranges::find(domain.choices, value) != domain.choices.end();
  return value.is_number() && (!domain.is_number() || (value >= domain.low && value <= domain.high));
}

// Another value: of a list or a few steps any other; otherwise half the time one nearby.
Json mutated(const Domain& domain, const Json& value, Random& random) {
  constexpr int kTries = 100;  // there may be no other
  for (int i = 0; i < kTries; ++i) {
    const bool is_near = domain.is_number() && random.below(2) == 0;
    Json other =
        is_near ? from_unit(domain, to_unit(domain, value) + kStep * draw_normal(random)) : draw(domain, random);
    if (other != value) return other;
  }
  return value;
}

class Evolution : public Sampler {
 public:
  explicit Evolution(const SamplerOptions& options)
      : seed_(options.seed),
        population_(static_cast<std::size_t>(number_option(options.options, "population_size", 100, 1))),
        sample_(static_cast<std::size_t>(number_option(options.options, "sample_size", 25, 1))) {}

  std::map<std::string, Json> draw_together(const Space& space, const Observations& past, int number) override {
    std::map<std::string, Json> values;
    const auto child = child_of(past, number);
    for (const auto& [path, domain] : space.parameters()) values[path] = value_of(path, domain, child, number);
    return values;
  }

  Json draw_one(const std::string& path, const Domain& domain, const Observations& past, int number) override {
    return value_of(path, domain, child_of(past, number), number);
  }

 private:
  struct Child {
    const Observation* parent;
    std::string mutated;  // a path
  };

  // Nothing until there is a population.
  std::optional<Child> child_of(const Observations& past, int number) const {
    std::vector<const Observation*> living;  // the newest first
    for (auto each = past.rbegin(); each != past.rend() && living.size() < population_; ++each)
      if (each->state != Observation::State::Running && each->loss && !each->values.empty()) living.push_back(&*each);
    if (living.size() < population_) return {};
    Random random = random_of(seed_, number, "parent");
    // A few of them, none twice.
    for (std::size_t i = 0; i < std::min(sample_, living.size()); ++i)
      std::swap(living[i], living[i + random.below(living.size() - i)]);
    const auto drawn = std::span(living).first(std::min(sample_, living.size()));
    const Observation* parent = *std::ranges::min_element(drawn, {}, [](const auto* each) { return *each->loss; });
    const auto chosen =
        std::next(parent->values.begin(), static_cast<std::ptrdiff_t>(random.below(parent->values.size())));
    return Child{parent, chosen->first};
  }

  Json value_of(const std::string& path, const Domain& domain, const std::optional<Child>& child, int number) const {
    Random random = random_of(seed_, number, path);
    if (!child) return draw(domain, random);
    const auto inherited = child->parent->values.find(path);
    // A parameter that its parent had not, since it depends on the choice that has changed.
    if (inherited == child->parent->values.end() || !fits(domain, inherited->second)) return draw(domain, random);
    return path == child->mutated ? mutated(domain, inherited->second, random) : inherited->second;
  }

  std::uint64_t seed_;
  std::size_t population_, sample_;
};

}  // namespace

SamplerEntry evolution_entry() {
  return {.name = "evolution",
          .help = "regularised evolution: the best of a few recent trials has a child that differs in one value",
          .options = {"population_size", "sample_size"},
          .make = [](const SamplerOptions& options) -> std::unique_ptr<Sampler> {
            return std::make_unique<Evolution>(options);
          }};
}

}  // namespace ronde::tune
