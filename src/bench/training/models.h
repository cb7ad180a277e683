#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/comm/buffer.h"

namespace ronde::bench::detail {

// A parameter of a network, whose gradient is to be reduced.
struct Parameter {
  std::string name;
  comm::Shape shape;
};

// The parameters of a model in the order of its forward pass, made from its architecture: resnet50 (161 tensors,
// 25,557,032 values), bert-base (199 tensors, 109,482,240 values), many-small (4,000 tensors of 4 values).
// FAILS WITH: BadInput for another name.
std::vector<Parameter> parameters_of(std::string_view model);

std::vector<std::string> model_names();

std::size_t elements_of(const std::vector<Parameter>& parameters);

}  // namespace ronde::bench::detail
