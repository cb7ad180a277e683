#include "ronde/base/error.h"
#include "ronde/data/formats/writers.h"

// In place of lmdb_writer.cc, where the library was not found.
namespace ronde::data::files {

std::unique_ptr<RecordWriter> make_lmdb_writer(const WriterOptions& options) {
  throw Error::bad_input("cannot write {}: Ronde was built without LMDB (Debian: liblmdb-dev)", options.path.string());
}

}  // namespace ronde::data::files
