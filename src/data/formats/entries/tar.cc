#include "ronde/data/formats/tar/tar.h"

#include "ronde/data/formats/format_entry.h"
#include "ronde/data/formats/writers.h"

namespace ronde::data {

FormatEntry tar_entry() {
  return {.name = "tar",
          .open = files::open_tar,
          .looks_like = files::looks_like_tar,
          .make_writer = files::make_tar_writer};
}

}  // namespace ronde::data
