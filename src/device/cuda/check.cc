#include "ronde/device/cuda/check.h"

#include <string>

#include "ronde/base/error.h"

namespace ronde::device {
namespace {

// The file's name alone: where it was built is nobody's business.
std::string_view file_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

}  // namespace

void check(cudaError_t result, std::string_view doing, std::source_location where) {
  if (result == cudaSuccess) return;
  int device = -1;
  const bool known = cudaGetDevice(&device) == cudaSuccess;
  (void)cudaGetLastError();  // said here once; the next caller is not to trip over it
  throw Error(
      Error::Kind::System,
      fmt::format("{}{}: {} ({}), {}:{}", doing, known ? fmt::format(" on GPU {}", device) : "",
                  cudaGetErrorString(result), cudaGetErrorName(result), file_name(where.file_name()), where.line()));
}

}  // namespace ronde::device
