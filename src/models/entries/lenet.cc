#include "ronde/models/detail/lenet.h"

#include "ronde/models/entry.h"

namespace ronde::models {

ModelEntry lenet_entry() {
  return {.names = {"lenet"}, .help = "LeNet-5 (LeCun et al.).", .make = make_plain<detail::LeNet>};
}

}  // namespace ronde::models
