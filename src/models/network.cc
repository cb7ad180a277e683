#include "ronde/models/network.h"

namespace ronde::models {

void to_channels_last(torch::nn::Module& network) {
  for (torch::Tensor& parameter : network.parameters())
    if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(torch::MemoryFormat::ChannelsLast));
}

}  // namespace ronde::models
