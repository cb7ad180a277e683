#include "ronde/train/loop/exchange.h"

#include "ronde/base/error.h"

namespace ronde::train {

comm::Compression compression_of(const std::string& name) {
  if (name == "f16") return comm::Compression::F16;
  return name == "bf16" ? comm::Compression::BF16 : comm::Compression::None;
}

comm::ReduceOp reduce_op_of(const std::string& name) {
  return name == "adasum" ? comm::ReduceOp::Adasum : comm::ReduceOp::Average;
}

void require_enough_samples(const TrainingOptions& options, int ranks) {
  const std::int64_t batch = options.batch, passes = options.accumulate;
  if (batch < ranks * passes)
    throw Error::bad_input("train.batch is {}: too small for {} ranks with {} backward passes each", batch, ranks,
                           passes);
}

std::int64_t checked_sync_every(const TrainingOptions& options) {
  const std::int64_t every = options.sync_every;
  if (every == 1) return every;
  const auto refuse = [&](const char* key, const std::string& value) {
    throw Error::bad_input(
        "{} is '{}', but with train.sync_every = {} ranks average their weights and do not exchange gradients", key,
        value, every);
  };
  if (options.compression != "none") refuse("train.compression", options.compression);
  if (options.reduce != "average") refuse("train.reduce", options.reduce);
  return every;
}

std::int64_t noise_interval(const TrainingOptions& options, int ranks) {
  const bool parts = ranks > 1 || options.accumulate > 1;
  const bool mean = options.reduce == "average" && options.sync_every == 1;
  return parts && mean ? options.noise_scale : 0;
}

}  // namespace ronde::train
