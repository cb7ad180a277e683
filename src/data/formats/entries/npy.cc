#include "ronde/data/formats/table/npy.h"

#include "ronde/data/formats/format_entry.h"
#include "ronde/data/formats/writers.h"

namespace ronde::data {

FormatEntry npy_entry() {
  return {.name = "npy",
          .open = files::open_npy,
          .looks_like = files::looks_like_npy,
          .make_writer = files::make_npy_writer};
}

}  // namespace ronde::data
