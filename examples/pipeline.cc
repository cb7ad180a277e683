// Batches of pictures, the same ones on any number of ranks: pipeline FOLDER [RANK RANKS].
// FOLDER holds a folder for each class.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>

#include "ronde/data/dataset.h"
#include "ronde/data/picture/picture_decoder.h"

namespace data = ronde::data;

int main(int count, char** words) try {
  if (count != 2 && count != 4) {
    std::fprintf(stderr, "usage: pipeline FOLDER [RANK RANKS]\n");
    return 2;
  }
  const int rank = count == 4 ? std::atoi(words[2]) : 0, ranks = count == 4 ? std::atoi(words[3]) : 1;

  const std::shared_ptr<const data::Decoder> crop_and_flip = data::make_picture_decoder({.resolution = 64});
  const auto batches = data::images(words[1]) | data::shuffle(/*seed=*/7) | data::global_batch(16) |
                       data::shard(rank, ranks) | data::map(crop_and_flip) | data::prefetch();

  data::Pipeline pipeline = batches.open();
  while (const auto batch = pipeline.next()) {
    double sum = 0;
    for (const float value : batch->at("image").values<float>()) sum += value;
    std::printf("%lld pictures, sum %.3f; then %s\n", static_cast<long long>(batch->at("class").shape()[0]), sum,
                data::to_text(pipeline.position()).c_str());
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "pipeline: %s\n", error.what());
  return 1;
}
