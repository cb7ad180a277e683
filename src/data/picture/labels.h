#pragma once

#include "ronde/data/sample.h"
#include "ronde/data/source.h"

namespace ronde::data::picture {

// Writes what is to be learned of a stored sample: its "class", or its "labels". Target::Input: nothing.
// FAILS WITH: BadInput: there is none, a class outside those that there are, labels of another number.
void write_target(const Sample& stored, const SampleKind& kind, const SampleSpace& into);

}  // namespace ronde::data::picture
