#include "ronde/data/samples/random_source.h"

#include "ronde/data/order/random.h"
#include "ronde/data/samples/generated.h"

namespace ronde::data::detail {
namespace {

class RandomSource : public Source {
 public:
  explicit RandomSource(const SourceOptions& options)
      : kind_(generated_kind(options)), size_(generated_size(options)), seed_(generated_seed(options)) {}

  std::string name() const override { return "random"; }
  SampleKind kind() const override { return kind_; }
  std::int64_t size() const override { return size_; }
  bool filled_once() const override { return true; }

  void read(std::int64_t index, std::int64_t, const SampleSpace& into) const override {
    Random random(seed_, static_cast<std::uint64_t>(index));
    for (float& value : into.features) value = random.uniform(-1, 1);
    for (std::int64_t& label : into.classes)
      label = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(kind_.classes)));
    for (float& flag : into.flags) flag = static_cast<float>(random.below(2));
  }

 private:
  const SampleKind kind_;
  const std::int64_t size_;
  const std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Source> open_random(const SourceOptions& options) {
  return std::make_unique<RandomSource>(options);
}

}  // namespace ronde::data::detail
