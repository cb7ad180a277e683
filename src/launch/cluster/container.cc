#include "ronde/launch/cluster/container.h"

#include <algorithm>
#include <filesystem>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/launch/cluster/ask.h"

namespace ronde::launch {
namespace {

void check_bind(const std::string& bind) {
  const auto pieces = split(bind, ':');
  const bool empty = std::ranges::any_of(pieces, [](std::string_view piece) { return piece.empty(); });
  const bool mode = pieces.size() < 3 || pieces[2] == "ro" || pieces[2] == "rw";
  if (pieces.size() > 3 || empty || !mode || !bind.starts_with('/'))
    throw Error::bad_input("--container-bind {}: write /folder, /folder:/inside or /folder:/inside:ro", bind);
}

// Folders that one of the others holds would only make the line longer.
std::vector<std::string> outermost(const std::vector<std::string>& folders) {
  std::vector<std::string> kept;
  for (const std::string& folder : folders) {
    const auto holds = [&](const std::string& other) { return folder == other || folder.starts_with(other + "/"); };
    if (!folder.empty() && folder != "/" && std::ranges::none_of(kept, holds)) kept.push_back(folder);
  }
  return kept;
}

}  // namespace

std::vector<std::string> container_command(const Container& container, const ContainerSituation& situation,
                                           const std::vector<std::string>& command) {
  std::vector<std::string> words{situation.runtime, "exec"};
  if (situation.gpu) words.emplace_back("--nv");
  std::vector<std::string> folders{situation.folder, "/dev/shm"};
  folders.insert(folders.end(), situation.folders.begin(), situation.folders.end());
  for (const std::string& folder : outermost(folders)) words.insert(words.end(), {"--bind", folder});
  for (const std::string& bind : container.binds) {
    check_bind(bind);
    words.insert(words.end(), {"--bind", bind});
  }
  words.insert(words.end(), {"--pwd", situation.folder, container.image});
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::vector<std::string> in_container(const Container& container, const std::vector<std::string>& command, bool gpu,
                                      const Environment& environment) {
  namespace fs = std::filesystem;
  if (container.image.empty()) return command;
  auto runtime = find_on_path("apptainer", environment);
  if (!runtime) runtime = find_on_path("singularity", environment);
  if (!runtime)
    throw Error::bad_input("--container {}: neither apptainer nor singularity is on the PATH", container.image);
  if (container.image.find("://") == std::string::npos && !fs::exists(container.image))
    throw Error::bad_input("--container {}: there is no such image", container.image);
  ContainerSituation situation{.runtime = *runtime, .gpu = gpu, .folder = fs::current_path().string(), .folders = {}};
  if (const auto traces = environment.get("RONDE_TRACE_DIR"); traces && !traces->empty()) {
    fs::create_directories(*traces);  // a bind must be there
    situation.folders.push_back(fs::absolute(*traces).lexically_normal().string());
  }
  if (command.front().find('/') != std::string::npos)
    situation.folders.push_back(fs::absolute(command.front()).parent_path().lexically_normal().string());
  return container_command(container, situation, command);
}

}  // namespace ronde::launch
