#pragma once

#include "ronde/base/log.h"
#include "ronde/train/loop/arithmetic.h"
#include "ronde/train/options.h"
#include "ronde/train/session.h"

namespace ronde::train {

// What this rank computes with.
HardwareFacts hardware_of(const Session& session);

// Tells torch what device.tf32, device.cudnn_autotune and train.deterministic want. For the whole process.
void apply_device_settings(const TrainingOptions& options);

// Rank 0 says which arithmetic runs, and warns where another would be faster.
// FAILS WITH: BadInput on every rank whose device lacks the precision.
void announce_arithmetic(const Session& session, const Log& log);

}  // namespace ronde::train
