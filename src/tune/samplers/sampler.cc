#include "ronde/tune/samplers/sampler.h"

#include <algorithm>

#include "ronde/tune/detail/registry.h"

namespace ronde::tune {

SamplerEntry find_sampler(std::string_view name) {
  return find_entry(sampler_entries(), name, "tune.sampler");
}

std::unique_ptr<Sampler> make_sampler(const SamplerEntry& entry, const SamplerOptions& options) {
  check_options(entry, options.options, "sampler");
  return entry.make(options);
}

Random random_of(std::uint64_t seed, int number, std::string_view path) {
  std::uint64_t key = 0xcbf29ce484222325u;  // FNV-1a of the path
  for (const char c : path) key = (key ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return Random(seed, static_cast<std::uint64_t>(number), key);
}

}  // namespace ronde::tune
