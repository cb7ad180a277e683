#include "ronde/data/formats/hdf5/hdf5.h"

#include "ronde/data/formats/format_entry.h"
#include "ronde/data/formats/writers.h"

namespace ronde::data {

FormatEntry hdf5_entry() {
  return {.name = "hdf5",
          .open = files::open_hdf5,
          .looks_like = files::looks_like_hdf5,
          .make_writer = files::make_hdf5_writer};
}

}  // namespace ronde::data
