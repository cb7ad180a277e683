#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/base/math/step_window.h"

// One file of all ranks, for a viewer.
namespace ronde::report::exporting {

enum class Format { Perfetto, Chrome, Otf2 };

// "perfetto", "chrome" or "otf2". FAILS WITH: BadInput.
Format parse_format(std::string_view name);
std::vector<std::string> format_names();

// Whether Ronde was built with what a format needs.
bool has_otf2();

struct MergeOptions {
  std::filesystem::path source = {};  // a folder of traces, or one trace
  std::filesystem::path output = {};  // empty: merged.perfetto-trace, merged.json or merged-otf2 beside them
  Format format = Format::Perfetto;
  StepWindow steps = {};                                                        // those that are wanted
  std::function<void(std::int64_t done, std::int64_t all)> progress = nullptr;  // MB of the files
};

struct Merged {
  std::filesystem::path output = {};  // a file; of OTF2 a folder
  std::uint64_t bytes = 0;
  int ranks = 0;
  std::uint64_t events = 0;
  std::vector<std::string> problems = {};  // damaged files, missing ranks and so on: a sentence each
};

// Brings the times of all ranks to one clock, offsets and drift removed where they were measured, and writes one file.
// Reads each file twice and keeps none, so that the traces may be larger than the memory. What was at `output` is
// replaced, and only when all is well; a folder is not.
// FAILS WITH: BadInput (nothing can be read, no rank has the steps, the output is an input), System (it cannot be
// written).
Merged merge(const MergeOptions& options);

}  // namespace ronde::report::exporting
