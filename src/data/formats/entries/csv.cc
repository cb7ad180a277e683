#include "ronde/data/formats/table/csv.h"

#include "ronde/data/formats/format_entry.h"
#include "ronde/data/formats/writers.h"

namespace ronde::data {

FormatEntry csv_entry() {
  return {.name = "csv",
          .open = files::open_csv,
          .looks_like = files::looks_like_csv,
          .make_writer = files::make_csv_writer};
}

}  // namespace ronde::data
