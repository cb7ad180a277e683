#include "ronde/data/formats/proto/lmdb.h"

#include "ronde/data/formats/format_entry.h"
#include "ronde/data/formats/writers.h"

namespace ronde::data {

FormatEntry lmdb_entry() {
  return {.name = "lmdb",
          .open = files::open_lmdb,
          .looks_like = files::looks_like_lmdb,
          .make_writer = files::make_lmdb_writer};
}

}  // namespace ronde::data
