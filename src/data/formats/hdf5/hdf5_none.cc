#include "ronde/base/error.h"
#include "ronde/data/formats/hdf5/hdf5.h"
#include "ronde/data/formats/writers.h"

// In place of the rest of hdf5, where the library was not found.
namespace ronde::data::files {

std::unique_ptr<Records> open_hdf5(const RecordsOptions& options) {
  throw Error::bad_input("cannot read {}: Ronde was built without HDF5 (Debian: libhdf5-dev)", options.path.string());
}

std::unique_ptr<RecordWriter> make_hdf5_writer(const WriterOptions& options) {
  throw Error::bad_input("cannot write {}: Ronde was built without HDF5 (Debian: libhdf5-dev)", options.path.string());
}

}  // namespace ronde::data::files
