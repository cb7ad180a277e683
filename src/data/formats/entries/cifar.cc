#include "ronde/data/formats/images/cifar.h"

#include "ronde/data/formats/format_entry.h"

namespace ronde::data {

FormatEntry cifar_entry() {
  return {.name = "cifar", .open = files::open_cifar, .looks_like = files::looks_like_cifar, .targets = ""};
}

}  // namespace ronde::data
