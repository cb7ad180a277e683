#include "ronde/cli/bench.h"

#include <algorithm>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "ronde/base/error.h"
#include "ronde/base/system/rates_file.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/json_text.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/bench/bench.h"
#include "ronde/bench/comm/rank.h"
#include "ronde/device/device.h"

namespace ronde::cli {
namespace {

constexpr int kMostRanks = 256, kMostSimulated = 1 << 16, kMostTensors = 1'000'000, kMostTurns = 1000,
              kMostBatch = 1 << 20;

// As they were typed: CLI11 would say less than we can.
struct BenchFlags {
  std::string name, ranks, sizes, tensors, simulate, model, batch, turns, compute, python, folder, output, device,
      rank_cpus, variant;
  bool json = false, list = false, compare = false, autotune = false;
};

int parse_count(const std::string& flag, std::string_view text, int least, int most) {
  const auto number = parse_number<int>(text);
  if (!number || *number < least || *number > most)
    throw Error::bad_input("{} {}: write a whole number from {} to {}", flag, text, least, most);
  return *number;
}

std::vector<int> parse_counts(const std::string& flag, const std::string& text, int least, int most) {
  std::vector<int> numbers;
  if (text.empty()) return numbers;
  for (const auto piece : split(text, ',')) numbers.push_back(parse_count(flag, piece, least, most));
  return numbers;
}

std::vector<std::size_t> parse_sizes(const std::string& text) {
  std::vector<std::size_t> sizes;
  if (text.empty()) return sizes;
  for (const auto piece : split(text, ',')) try {
      sizes.push_back(parse_bytes(piece));
    } catch (const Error& error) {
      throw Error::bad_input("--sizes {}: {}", text, error.message());
    }
  return sizes;
}

double parse_microseconds(const std::string& text) {
  if (text.empty()) return 0.0;
  try {
    return std::chrono::duration<double, std::micro>(parse_duration(text)).count();
  } catch (const Error& error) {
    throw Error::bad_input("--compute {}: {}", text, error.message());
  }
}

int parse_batch(const BenchFlags& flags) {
  return flags.batch.empty() ? 0 : parse_count("--batch", flags.batch, 1, kMostBatch);
}

bool parse_device(const std::string& text) {
  if (text.empty() || text == "cpu") return false;
  if (text != "cuda") throw Error::bad_input("--device {}: use cpu or cuda", text);
  device::require_gpu(0);
  return true;
}

// Settings that were given as flags are for the ranks too; how they are launched is the benchmark's own affair.
std::vector<std::string> flags_for_ranks(const Settings& settings) {
  std::vector<std::string> flags;
  for (std::size_t i = 0; i < kSettings.size(); ++i) {
    const auto& entry = settings.entries()[i];
    const bool ours = kSettings[i].key == "log.level" || kSettings[i].key == "launch.grace";
    if (entry.origin.starts_with("--") && !ours) flags.insert(flags.end(), {flag_name(kSettings[i]), entry.text});
  }
  return flags;
}

bench::Options options_of(const BenchFlags& flags, const Context& context) {
  return {.ranks = parse_counts("-n", flags.ranks, 1, kMostRanks),
          .sizes = parse_sizes(flags.sizes),
          .tensors = parse_counts("--tensors", flags.tensors, 1, kMostTensors),
          .model = flags.model,
          .batch = parse_batch(flags),
          .turns = flags.turns.empty() ? (flags.name == "trace" ? 20 : 5)
                                       : parse_count("--turns", flags.turns, 1, kMostTurns),
          .simulate = flags.simulate.empty() ? 0 : parse_count("--simulate", flags.simulate, 2, kMostSimulated),
          .compute_us = parse_microseconds(flags.compute),
          .gpu = parse_device(flags.device),
          .compare = flags.compare,
          .autotune = flags.autotune,
          .python = flags.python,
          .folder = flags.folder,
          .output = flags.output.empty() ? default_roofline(context.environment).string() : flags.output,
          .settings = flags_for_ranks(context.settings),
          .log = context.log};
}

int run_rank(const BenchFlags& flags, const Context& context) {
  const auto serve = flags.name == "train" ? bench::serve_train_rank : bench::serve_rank;
  serve({.environment = context.environment,
         .settings = context.settings,
         .cpus = parse_counts("--rank", flags.rank_cpus, 0, 1 << 20),
         .model = flags.model,
         .compute_us = parse_microseconds(flags.compute),
         .batch = parse_batch(flags),
         .variant = flags.variant});
  return 0;
}

int run_bench(const BenchFlags& flags, const Context& context) {
  if (flags.list) {
    for (const auto& benchmark : bench::all()) fmt::print("{}\n", benchmark.name);
    return 0;
  }
  if (!flags.rank_cpus.empty()) return run_rank(flags, context);
  const bench::Report report = bench::run(bench::find(flags.name), options_of(flags, context));
  if (report.rows.empty()) return 0;  // another rank prints
  fmt::print("{}", flags.json ? json_text(bench::to_json(report)) + "\n" : bench::to_text(report));
  return 0;
}

// A flag that the benchmark would not heed is a mistake.
void refuse_other_flags(const CLI::App& app, const bench::Benchmark& benchmark) {
  const auto takes = split(benchmark.flags, ' ');
  for (const char* flag : {"-n", "--sizes", "--tensors", "--simulate", "--model", "--batch", "--turns", "--compute",
                           "--autotune", "--compare", "--python", "--dir", "--output", "--device"}) {
    if (app.get_option(flag)->count() == 0 || std::ranges::find(takes, flag) != takes.end()) continue;
    throw Error::bad_input("{} is not a flag of 'ronde bench {}'; {}", flag, benchmark.name,
                           benchmark.flags.empty() ? "it takes no flags" : fmt::format("it takes {}", benchmark.flags));
  }
}

void add_flags(CLI::App& bench, BenchFlags& flags) {
  std::string help = "Benchmark to run:";
  for (const auto& benchmark : bench::all()) help += fmt::format("\n{} ({})", benchmark.name, benchmark.help);
  bench.add_option("NAME", flags.name, help);
  bench.add_flag("--json", flags.json, "Print JSON for scripts: bench, version, host, rows, summary");
  bench.add_flag("--list", flags.list, "List all benchmarks");
  bench.add_option("-n", flags.ranks, "Number of ranks, default 2; control: a list, default 2,4,8,16,32,64")
      ->type_name("N");
  bench.add_flag("--compare", flags.compare,
                 "allreduce, train: compare with MPI, gloo and Horovod, if they are installed");
  bench
      .add_option("--sizes", flags.sizes,
                  "allreduce: message sizes, such as 4,1KiB,64MiB; roofline: size of the file that is read; records: "
                  "size of one record, and of all")
      ->type_name("BYTES");
  bench
      .add_option("--turns", flags.turns,
                  "allreduce, step, train: turns per contestant, default 5; trace: number of pairs, default 20; "
                  "roofline: duration of each part, in fifths of a second")
      ->type_name("N");
  bench
      .add_option("--python", flags.python,
                  "With --compare: Python in which the peers are installed; default: that of .peers (tools/peers), "
                  ".venv, or python3")
      ->type_name("PROGRAM");
  bench.add_option("--device", flags.device, "allreduce, train: cpu or cuda (tensors on GPUs); default cpu")
      ->type_name("NAME");
  bench
      .add_option("--model", flags.model,
                  "step: resnet50, bert-base or many-small; train: mlp-wide, mlp-deep or resnet18-cifar, or any that "
                  "model.name can be, on the samples of data.name; with --device cuda resnet50; default: all of them")
      ->type_name("NAME");
  bench
      .add_option("--batch", flags.batch,
                  "train: samples per rank and step; default 32, and also 128 for mlp-wide; on a GPU 256 and 32")
      ->type_name("N");
  bench.add_option("--compute", flags.compute, "step: total computation between the calls, such as 50ms; default 0")
      ->type_name("TIME");
  bench.add_flag("--autotune", flags.autotune, "step: compare the result of comm.autotune with the defaults");
  bench.add_option("--tensors", flags.tensors, "control: tensors per step, default 10,100,1000,10000")->type_name("N");
  bench
      .add_option("--simulate", flags.simulate,
                  "control: count what so many ranks send to agree, all of them simulated in one process")
      ->type_name("N");
  bench
      .add_option(
          "--dir", flags.folder,
          "roofline, records: folder whose file system is measured, default the current one; decode: folder of JPEGs")
      ->type_name("FOLDER");
  bench
      .add_option("--output", flags.output,
                  "roofline: the file for 'ronde limits', default ~/.cache/ronde/roofline.json (or in XDG_CACHE_HOME)")
      ->type_name("FILE");
  bench.add_option("--rank", flags.rank_cpus)->group("");  // how a benchmark starts its own ranks
  bench.add_option("--variant", flags.variant)->group("");
}

}  // namespace

void add_bench(CLI::App& app, std::function<int(const Context&)>& command) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* bench = app.get_subcommand("bench");
  add_flags(*bench, *flags);
  bench->callback([flags, bench, &command] {
    if (flags->name.empty() && !flags->list)
      throw Error::bad_input("missing name of a benchmark; 'ronde bench --list' lists them");
    if (!flags->name.empty()) refuse_other_flags(*bench, bench::find(flags->name));
    command = [flags](const Context& context) { return run_bench(*flags, context); };
  });
}

}  // namespace ronde::cli
