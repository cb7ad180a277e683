#include "ronde/data/formats/proto/tfrecord.h"

#include "ronde/data/formats/format_entry.h"
#include "ronde/data/formats/writers.h"

namespace ronde::data {

FormatEntry tfrecord_entry() {
  return {.name = "tfrecord",
          .open = files::open_tfrecord,
          .looks_like = files::looks_like_tfrecord,
          .make_writer = files::make_tfrecord_writer};
}

}  // namespace ronde::data
