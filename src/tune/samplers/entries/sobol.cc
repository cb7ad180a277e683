#include "ronde/tune/samplers/sobol.h"
#include "ronde/tune/samplers/cube.h"
#include "ronde/tune/samplers/sampler.h"

namespace ronde::tune {
namespace {

class Sobol : public Sampler {
 public:
  explicit Sobol(const SamplerOptions& options)
      : seed_(options.seed), scramble_(options.options.value("scramble", false)) {}

  std::map<std::string, Json> draw_together(const Space& space, const Observations& /*past*/, int number) override {
    std::vector<Space::Parameter> parameters = cube_parameters(space);
    if (parameters.size() > kSobolDimensions) parameters.erase(parameters.begin() + kSobolDimensions, parameters.end());
    std::vector<double> point = sobol_point(static_cast<std::uint32_t>(number), parameters.size());
    // Moved around the cube by the same way for all points: they fill it as evenly as before.
    for (std::size_t i = 0; scramble_ && i < point.size(); ++i) {
      point[i] += random_of(seed_, 0, parameters[i].path).uniform_double();
      point[i] -= point[i] >= 1 ? 1 : 0;
    }
    return values_at(parameters, point);
  }

  Json draw_one(const std::string& path, const Domain& domain, const Observations& /*past*/, int number) override {
    Random random = random_of(seed_, number, path);
    return draw(domain, random);
  }

 private:
  std::uint64_t seed_;
  bool scramble_;
};

}  // namespace

SamplerEntry sobol_entry() {
  return {.name = "sobol",
          .aliases = {"qmc"},
          .help = "points that fill the space evenly; use 2^m trials",
          .options = {"scramble"},
          .learns = false,
          .make = [](const SamplerOptions& options) -> std::unique_ptr<Sampler> {
            return std::make_unique<Sobol>(options);
          }};
}

}  // namespace ronde::tune
