#include "ronde/comm/mpi/find_plugin.h"

#include <array>

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

namespace ronde::comm::detail {
namespace {

std::filesystem::path folder_of_program() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
}

// Of the file that this code is in: the program, or a library that another program, such as Python, has loaded.
std::filesystem::path folder_of_code() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void*>(&folder_of_code), &info) || !info.dli_fname) return {};
  return std::filesystem::path(info.dli_fname).parent_path();
}

}  // namespace

std::optional<MpiKind> kind_of_file(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename();
  if (name.starts_with("libmpich") || name.starts_with("libmpi.so.12") || name.starts_with("libmpi_cray"))
    return MpiKind::Mpich;
  if (name.starts_with("libmpi.so") || name.starts_with("libmpi_ibm")) return MpiKind::OpenMpi;
  return {};
}

std::string loaded_mpi_library() {
  std::string found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        if (!info->dlpi_name || !kind_of_file(info->dlpi_name)) return 0;
        *static_cast<std::string*>(to) = info->dlpi_name;
        return 1;
      },
      &found);
  return found;
}

std::vector<MpiKind> plugins_to_try(const std::string& loaded, const std::string& wanted, const LaunchedBy& by) {
  if (const auto kind = kind_of_file(loaded)) return {*kind};
  if (const auto kind = kind_of_file(wanted)) return {*kind};
  if (by.kind) return {*by.kind};
  return {MpiKind::OpenMpi, MpiKind::Mpich};
}

std::string plugin_file(MpiKind kind) {
  return kind == MpiKind::OpenMpi ? "ronde-mpi-openmpi.so" : "ronde-mpi-mpich.so";
}

std::vector<std::filesystem::path> plugin_folders() {
  std::vector<std::filesystem::path> folders;
  const std::filesystem::path program = folder_of_program();
  folders.push_back(program);
  folders.push_back(program.parent_path() / "lib" / "ronde");
  if (const std::filesystem::path code = folder_of_code(); !code.empty()) folders.push_back(code / "bin");  // by pip
  folders.emplace_back(RONDE_PLUGIN_DIR);
  folders.emplace_back(RONDE_BUILD_DIR);
  return folders;
}

}  // namespace ronde::comm::detail
