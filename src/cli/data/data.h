#pragma once

#include <functional>
#include <string>

#include "ronde/cli/program/app.h"
#include "ronde/data/records.h"

namespace CLI {
class App;
}

namespace ronde::cli {

// Adds `ronde data`, whose subcommands set `command` when they are chosen: one file each.
void add_data(CLI::App& app, std::function<int(const Context&)>& command);

void add_data_bench(CLI::App& data, std::function<int(const Context&)>& command);
void add_data_convert(CLI::App& data, std::function<int(const Context&)>& command);
void add_data_pack(CLI::App& data, std::function<int(const Context&)>& command);
void add_data_inspect(CLI::App& data, std::function<int(const Context&)>& command);
void add_data_verify(CLI::App& data, std::function<int(const Context&)>& command);

// What a path on the command line means, with the settings data.image and data.label, and progress of a first scan.
// `format`: as it was typed; empty: auto.
data::RecordsOptions records_options(const std::string& path, const std::string& format, const Context& context);

// The flag --format.
void add_format_flag(CLI::App& command, std::string& format);

}  // namespace ronde::cli
