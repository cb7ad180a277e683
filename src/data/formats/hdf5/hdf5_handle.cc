#include "ronde/data/formats/hdf5/hdf5_handle.h"

namespace ronde::data::files {
namespace {

// The library has one state for the process, so the lock is the process's too.
Mutex& the_lock() {
  static Mutex lock;
  return lock;
}

herr_t take_description(unsigned, const H5E_error2_t* error, void* into) {
  if (error->desc) *static_cast<std::string*>(into) = error->desc;
  return 0;
}

}  // namespace

Hdf5Lock::Hdf5Lock() : lock_(the_lock()) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // of this thread
}

hid_t hdf5_type(Type type) {
  switch (type) {
    case Type::U8: return H5T_NATIVE_UINT8;
    case Type::I8: return H5T_NATIVE_INT8;
    case Type::U16: return H5T_NATIVE_UINT16;
    case Type::I16: return H5T_NATIVE_INT16;
    case Type::I32: return H5T_NATIVE_INT32;
    case Type::I64: return H5T_NATIVE_INT64;
    case Type::F32: return H5T_NATIVE_FLOAT;
    case Type::F64: return H5T_NATIVE_DOUBLE;
    case Type::BF16: break;
  }
  return -1;
}

std::string hdf5_reason() {
  std::string reason = "HDF5 gave no reason";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, take_description, &reason);  // what it tells last is the innermost
  H5Eclear2(H5E_DEFAULT);
  return reason;
}

}  // namespace ronde::data::files
