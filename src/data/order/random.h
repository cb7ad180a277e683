#pragma once

#include "ronde/base/math/random.h"

namespace ronde::data {

using ronde::mix;
using ronde::Random;

}  // namespace ronde::data
