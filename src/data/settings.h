#pragma once

#include <filesystem>
#include <string>

#include "ronde/base/settings/environment.h"
#include "ronde/data/pipeline_options.h"
#include "ronde/data/source.h"

namespace ronde {
class Settings;
}

namespace ronde::data {

// What the settings data.* and train.seed ask for, for samples to train on from the source of that name. Where it lies
// in files, channels and resolution that nobody has set are what is usual for them.
// FAILS WITH: BadInput for a text that cannot be read.
SourceOptions source_options(const Settings& settings, const Environment& environment, const std::string& name);

// What data.threads, .memory, .prefetch and .on_error ask for. The caller adds who is told, and who records.
PipelineOptions pipeline_options(const Settings& settings);

// Where indexes go that cannot be kept beside the data; empty where the user has no home.
std::filesystem::path index_folder(const Environment& environment);

}  // namespace ronde::data
