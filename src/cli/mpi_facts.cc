#include "ronde/cli/mpi_facts.h"

#include <algorithm>
#include <array>

#include "ronde/base/error.h"
#include "ronde/base/settings/settings.h"
#include "ronde/base/system/library.h"
#include "ronde/base/text/text.h"
#include "ronde/cli/program/parts.h"

namespace ronde::cli {
namespace {
// More than any MPI library's MPI_MAX_LIBRARY_VERSION_STRING (Open MPI 256, MPICH 8192).
constexpr std::size_t kLongestVersion = 16384;
}  // namespace

std::string mpi_file(const Settings& settings) {
  if (auto named = settings.get<"mpi.library">(); !named.empty()) return named;
  const auto part = std::ranges::find(parts(), "MPI", &Part::name);
  return part == parts().end() ? "" : std::string(part->detail);
}

std::string mpi_library_version(const std::string& file) {
  try {
    const Library library(file);
    std::array<char, kLongestVersion> text{};
    int length = 0;
    library.function<int(char*, int*)>("MPI_Get_library_version")(text.data(), &length);
    // Open MPI puts a sentence, MPICH a page: the first part names the product.
    const std::string_view first_line = split(text.data(), '\n').front();
    return std::string(trim(split(first_line, ',').front()));
  } catch (const Error& error) {
    throw Error::bad_input("MPI library cannot be loaded: {} (set mpi.library to use another one)", error.what());
  }
}

}  // namespace ronde::cli
