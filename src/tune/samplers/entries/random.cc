#include "ronde/tune/samplers/sampler.h"

namespace ronde::tune {
namespace {

class RandomSampler : public Sampler {
 public:
  explicit RandomSampler(std::uint64_t seed) : seed_(seed) {}

  Json draw_one(const std::string& path, const Domain& domain, const Observations& /*past*/, int number) override {
    Random random = random_of(seed_, number, path);
    return draw(domain, random);
  }

 private:
  std::uint64_t seed_;
};

}  // namespace

SamplerEntry random_entry() {
  return {.name = "random",
          .aliases = {"variant_generator", "grid"},
          .help = "independent random values, and every point of grids",
          .learns = false,
          .make = [](const SamplerOptions& options) -> std::unique_ptr<Sampler> {
            return std::make_unique<RandomSampler>(options.seed);
          }};
}

}  // namespace ronde::tune
