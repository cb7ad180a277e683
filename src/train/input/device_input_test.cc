#include "ronde/train/input/device_input.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/data/array.h"
#include "ronde/data/dataset.h"
#include "ronde/data/order/random.h"
#include "ronde/data/records.h"
#include "ronde/data/stored_source.h"
#include "ronde/device/device.h"
#include "ronde/train/input/mixup.h"
#include "ronde/train/loop/training_task.h"

namespace ronde::train {
namespace {

constexpr std::int64_t kClasses = 5;

// Pixels made up, of any number of samples; one of them may be broken.
class Noise : public data::Records {
 public:
  explicit Noise(std::int64_t samples, std::int64_t broken = -1) : samples_(samples), broken_(broken) {}
  std::string name() const override { return "noise"; }
  std::int64_t size() const override { return samples_; }
  std::size_t bytes(std::int64_t) const override { return 20 * 24 * 3; }
  std::string where(std::int64_t index) const override { return fmt::format("noise {}", index); }
  std::string key(std::int64_t index) const override { return std::to_string(index); }
  data::Sample read(std::int64_t index) const override {
    data::Sample sample;
    data::Array pixels(data::Type::U8, {20, 24, index == broken_ ? 2 : 3});
    data::Random random(1, static_cast<std::uint64_t>(index));
    for (auto& byte : pixels.values<std::uint8_t>()) byte = static_cast<std::uint8_t>(random.below(256));
    sample.set("image", std::move(pixels));
    sample.set("class", data::Array::scalar<std::int64_t>(index % kClasses));
    return sample;
  }

 private:
  const std::int64_t samples_, broken_;
};

std::unique_ptr<data::Source> pictures(bool u8, std::int64_t samples, std::int64_t broken = -1) {
  const data::PictureOptions options{
      .resolution = 16, .layout = data::Layout::ChannelsLast, .u8 = u8, .classes = kClasses};
  return std::make_unique<data::StoredSource>(data::StoredParts{.records = std::make_shared<Noise>(samples, broken),
                                                                .decoder = data::make_picture_decoder(options),
                                                                .seed = 3},
                                              0);
}

data::Pipeline in_batches(const data::Source& source, std::int64_t batch) {
  return (data::from_source(source) | data::shuffle(4) | data::batch(batch) | data::repeat(2)).open();
}

// What the ordinary path makes of the next batch.
struct Expected {
  Samples plain = {}, seen = {};
  std::int64_t size = 0;
};
std::optional<Expected> expected(data::Pipeline& batches, const DeviceInputOptions& options) {
  auto batch = batches.next_batch();
  if (!batch) return {};
  Task task;
  task.channels_last = options.channels_last;
  Expected made{.size = batch->size()};
  made.plain = samples_of(*batch, {0, batch->size()}, task, torch::kCPU);
  made.plain = {made.plain.inputs.clone(), made.plain.targets.clone()};
  made.seen = made.plain;
  if (options.mixup > 0)
    made.seen = mixed(made.plain, options.mixup, options.seed, batch->facts().epoch, batch->facts().local.begin,
                      batch->facts().kind.classes);
  return made;
}

// Half a byte's step at a deviation of 0.224, and what bf16 leaves of numbers up to 2.7.
double tolerance(const DeviceInputOptions& options) {
  return 0.5001 / 255 / 0.224 + (options.type == torch::kBFloat16 ? 0.0079 : 1e-5);
}

void expect_as_ordinary(const data::Source& by_device, const data::Source& by_threads,
                        const DeviceInputOptions& options) {
  data::Pipeline ours = in_batches(by_device, 4), theirs = in_batches(by_threads, 4);
  DeviceInput input(ours, options);
  std::int64_t batches = 0;
  while (const auto batch = input.next()) {
    const auto wanted = expected(theirs, options);
    ASSERT_TRUE(wanted);
    ASSERT_EQ(batch->facts.local.size(), wanted->size);
    ASSERT_EQ(batch->inputs.sizes(), wanted->seen.inputs.sizes());
    EXPECT_EQ(batch->inputs.scalar_type(), options.type);
    EXPECT_TRUE(batch->inputs.is_contiguous(options.channels_last ? torch::MemoryFormat::ChannelsLast
                                                                  : torch::MemoryFormat::Contiguous));
    const torch::Tensor inputs = batch->inputs.to(torch::kCPU, torch::kFloat32);
    EXPECT_TRUE(torch::allclose(inputs, wanted->seen.inputs, 0, tolerance(options)));
    EXPECT_TRUE(torch::equal(batch->plain.to(torch::kCPU), wanted->plain.targets));
    ASSERT_EQ(batch->mixed(), options.mixup > 0);
    if (options.mixup > 0) {
      EXPECT_TRUE(torch::equal(batch->targets.to(torch::kCPU), wanted->seen.targets));
    }
    ++batches;
  }
  EXPECT_FALSE(theirs.next_batch());
  EXPECT_FALSE(input.next()) << "and so it stays";
  EXPECT_EQ(batches, 2 * ((by_device.size() + 3) / 4));
}

void check_all(torch::Device device) {
  const auto bytes = pictures(true, 14), numbers = pictures(false, 14);
  for (const auto type : {torch::kFloat32, torch::kBFloat16})
    for (const bool channels_last : {false, true})
      for (const double mixup : {0.0, 0.4}) {
        const DeviceInputOptions options{
            .device = device, .type = type, .channels_last = channels_last, .mixup = mixup, .seed = 9};
        expect_as_ordinary(*bytes, *numbers, options);
        expect_as_ordinary(*numbers, *numbers, options);
      }
}

TEST(DeviceInput, GivesWhatTheOrdinaryPathGives) {
  check_all(torch::kCPU);
}

TEST(DeviceInput, GivesTheSameOnAGpu) {
  if (device::count() == 0) GTEST_SKIP() << device::why_none();
  if (!torch::hasCUDA()) GTEST_SKIP() << "this libtorch has no CUDA";
  check_all(torch::Device(torch::kCUDA, 0));
}

TEST(DeviceInput, TheOneAheadHasMemoryOfItsOwn) {
  const auto bytes = pictures(true, 40);
  data::Pipeline batches = in_batches(*bytes, 4);
  DeviceInput input(batches, {});
  auto batch = input.next();
  for (int i = 0; i < 8; ++i) {
    const void* before = batch->inputs.data_ptr();
    batch = input.next();
    EXPECT_NE(batch->inputs.data_ptr(), before);
  }
}

TEST(DeviceInput, LastSampleWithoutANeighbourStaysAsItIs) {
  const auto bytes = pictures(true, 7);
  data::Pipeline mixing = in_batches(*bytes, 7), plain = in_batches(*bytes, 7);
  DeviceInput mixed_input(mixing, {.mixup = 0.5}), plain_input(plain, {});
  const auto mixed_batch = mixed_input.next(), plain_batch = plain_input.next();
  EXPECT_TRUE(torch::equal(mixed_batch->inputs[6], plain_batch->inputs[6]));
  EXPECT_FALSE(torch::equal(mixed_batch->inputs[0], plain_batch->inputs[0]));
  EXPECT_EQ(mixed_batch->targets[6].max().item<float>(), 1);
}

TEST(DeviceInput, OtherTargetsComeToo) {
  for (const auto& [target, shape] : {std::pair{data::Target::Labels, std::vector<std::int64_t>{6, 4}},
                                      {data::Target::Mask, {6, 12, 12}},
                                      {data::Target::Input, {6, 1, 12, 12}}}) {
    const auto source = data::open_source({.name = "glyphs",
                                           .samples = 6,
                                           .classes = target == data::Target::Mask ? 3 : 4,
                                           .resolution = 12,
                                           .target = target});
    data::Pipeline ours = in_batches(*source, 6), theirs = in_batches(*source, 6);
    DeviceInput input(ours, {});
    const auto batch = input.next();
    const auto wanted = expected(theirs, {});
    EXPECT_EQ(batch->targets.sizes(), torch::IntArrayRef(shape));
    EXPECT_TRUE(torch::equal(batch->targets, wanted->plain.targets));
  }
}

TEST(DeviceInput, AFailureComesAfterTheBatchesBefore) {
  const auto bytes = pictures(true, 12, 9);
  data::Pipeline batches = (data::from_source(*bytes) | data::batch(4)).open();
  DeviceInput input(batches, {});
  EXPECT_TRUE(input.next());
  EXPECT_TRUE(input.next());
  EXPECT_THROW(input.next(), Error);
  EXPECT_THROW(input.next(), Error);
}

TEST(DeviceInput, IsChosenBySettingAndDevice) {
  TrainingOptions options;
  EXPECT_FALSE(augments_on_device(options, torch::kCPU));
  options.data.on_device = "on";
  EXPECT_TRUE(augments_on_device(options, torch::kCPU));
  options.data.on_device = "off";
  EXPECT_FALSE(augments_on_device(options, torch::Device(torch::kCUDA, 0)));
}

}  // namespace
}  // namespace ronde::train
