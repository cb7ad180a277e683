#include "ronde/cli/training/torch_facts.h"

namespace ronde::cli {

std::optional<TorchFacts> torch_facts() {
  return {};
}

}  // namespace ronde::cli
