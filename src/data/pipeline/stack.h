#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ronde/data/batch.h"
#include "ronde/data/pipeline/run.h"
#include "ronde/data/sample.h"

namespace ronde::data {

// One sample of many: every array gets a first dimension more. `pad`: arrays of different lengths are filled up with
// zeros to the longest, in each dimension.
// REQUIRES: at least one item. FAILS WITH: BadInput naming the array that differs in type or shape. Pure.
Sample stack(std::span<const Item> items, bool pad);

// The samples that a stacked one was made of; copies nothing. FAILS WITH: BadInput when arrays differ in their first
// dimension.
std::vector<Sample> unstack(const Sample& stacked);

// A batch whose samples were written in place, as arrays: "image", and "class", "labels" or "mask". Copies nothing; the
// batch stays for as long as any of them.
Sample as_sample(std::shared_ptr<const Batch> batch);

// What a decoder makes of a sample, with arrays of the same names. FAILS WITH: as Decoder::decode.
Sample decode_sample(const Decoder& decoder, const Sample& stored, const Draw& draw);

}  // namespace ronde::data
