// Where Ronde was built without libotf2.
#include "ronde/base/error.h"
#include "ronde/report/export/merge.h"
#include "ronde/report/export/sink.h"

namespace ronde::report::exporting {

bool has_otf2() {
  return false;
}

std::unique_ptr<Sink> otf2_sink(const std::filesystem::path&, std::int64_t) {
  throw Error::bad_input(
      "Ronde was built without libotf2 and cannot write OTF2: install libotf2-trace-dev (Debian) and build again, or "
      "use --format perfetto");
}

}  // namespace ronde::report::exporting
