#pragma once

#include <filesystem>

namespace ronde {
class Settings;
}

namespace ronde::train {

// Where a training writes its log, TensorBoard files and checkpoints: output.dir, or, where that is empty,
// ronde-output/RECIPE: the name of a recipe that is built in, or that of its file without the ending. Settings of no
// recipe: ronde-output. Pure.
std::filesystem::path output_folder(const Settings& settings);

}  // namespace ronde::train
