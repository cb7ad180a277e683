#include "ronde/cli/bench.h"

#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "ronde/base/error.h"
#include "ronde/base/format.h"
#include "ronde/base/json_text.h"
#include "ronde/bench/bench.h"

namespace ronde::cli {
namespace {

struct BenchFlags {
  std::string name;
  bool json = false, list = false;
};

int run_bench(const BenchFlags& flags) {
  if (flags.list) {
    for (const auto& benchmark : bench::all()) fmt::print("{}\n", benchmark.name);
    return 0;
  }
  const bench::Report report = bench::find(flags.name).run();
  fmt::print("{}", flags.json ? json_text(bench::to_json(report)) + "\n" : bench::to_text(report));
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, std::function<int(const Context&)>& command) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* bench = app.add_subcommand("bench", "Measure a part of Ronde on this machine");
  std::string help = "Which one:";
  for (const auto& benchmark : bench::all()) help += fmt::format("\n{} ({})", benchmark.name, benchmark.help);
  bench->add_option("NAME", flags->name, help);
  bench->add_flag("--json", flags->json, "For scripts: bench, version, host, rows");
  bench->add_flag("--list", flags->list, "The names of all benchmarks");
  bench->callback([flags, &command] {
    if (flags->name.empty() && !flags->list)
      throw Error::bad_input("name a benchmark; 'ronde bench --list' prints their names");
    command = [flags](const Context&) { return run_bench(*flags); };
  });
}

}  // namespace ronde::cli
