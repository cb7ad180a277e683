#include "ronde/data/formats/pack/pack.h"

#include "ronde/data/formats/format_entry.h"

namespace ronde::data {

FormatEntry pack_entry() {
  return {.name = "pack", .open = files::open_pack, .looks_like = files::looks_like_pack};
}

}  // namespace ronde::data
