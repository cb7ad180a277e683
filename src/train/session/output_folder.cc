#include "ronde/train/session/output_folder.h"

#include "ronde/base/settings/settings.h"
#include "ronde/train/recipes.h"

namespace ronde::train {

std::filesystem::path output_folder(const Settings& settings) {
  if (const std::string chosen = settings.get<"output.dir">(); !chosen.empty()) return chosen;
  const std::filesystem::path all = "ronde-output";
  const std::string name = recipe_name(settings);
  return name.empty() ? all : all / name;
}

}  // namespace ronde::train
