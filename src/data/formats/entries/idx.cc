#include "ronde/data/formats/images/idx.h"

#include "ronde/data/formats/format_entry.h"

namespace ronde::data {

FormatEntry idx_entry() {
  return {.name = "idx", .open = files::open_idx, .looks_like = files::looks_like_idx, .targets = ""};
}

}  // namespace ronde::data
