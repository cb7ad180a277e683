#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "ronde/base/log.h"

namespace ronde::bench {

// A figure that somebody has promised, and what came of it.
struct Bar {
  std::string key;    // in JSON
  std::string words;  // for people: what is measured
  double value = 0.0;
  double bar = 0.0;
  bool at_least = true;  // otherwise: at most

  bool met() const { return at_least ? value >= bar : value <= bar; }
};

// Something that follows from the rows: a table of its own, with a line of words above it.
struct Section {
  std::string key;  // in JSON
  std::string words;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();  // as those of a report
};

// What a benchmark found: one JSON object a row, all with the same keys in the same order. By convention times end in
// _us, sizes are "bytes", and ratios are "ratio_PEER" (above 1: we are faster).
struct Report {
  std::string name;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  std::vector<Section> sections = {};
  std::vector<Bar> bars = {};
  double busy = 0.0;  // how much of the machine others used, from 0 to 1, right before or after
};

// What a user may ask of a benchmark. Empty: what the benchmark itself thinks best.
struct Options {
  std::vector<int> ranks = {};             // more than one number only where the benchmark takes a list
  std::vector<std::size_t> sizes = {};     // in bytes
  std::vector<int> tensors = {};           // how many a step has
  std::string model = {};                  // one of model_names(); train: of a network
  int batch = 0;                           // train: samples a rank and step
  int turns = 5;                           // that each contestant gets
  int simulate = 0;                        // control: so many ranks in one process; 0: real ones
  double compute_us = 0.0;                 // a step's computation, spread over its tensors
  bool gpu = false;                        // allreduce, train: --device cuda
  bool compare = false;                    // with every peer that is installed
  bool autotune = false;                   // what autotune finds against the defaults
  std::string python = {};                 // the interpreter that has the peers
  std::string folder = {};                 // roofline: where a file is read from; decode: of photographs
  std::string output = {};                 // roofline: the file for `ronde limits`; empty: none
  std::vector<std::string> settings = {};  // flags for the ranks that are started: --set, key=value
  Log log = Log();
};

struct Benchmark {
  std::string_view name;
  std::string_view help;
  std::string_view flags;  // those that it takes, with blanks between
  Report (*run)(const Options& options);
};

std::span<const Benchmark> all();

// FAILS WITH: BadInput for a name that is none of them.
const Benchmark& find(std::string_view name);

// Runs it. Warns when others use the machine: on two cores, one compiler is enough to make any peer look slow.
// FAILS WITH: what the benchmark fails with; BadInput for options that make no sense.
Report run(const Benchmark& benchmark, const Options& options);

// {"bench": name, "version": 1, "host": {...}, "rows": [...], KEY: [...], "summary": {key: {"value", "bar", "met"}}}: a
// KEY for each section, and the last only where there are bars.
nlohmann::ordered_json to_json(const Report& report);

// A table for people, the keys as titles, and one a section; then a line a bar.
std::string to_text(const Report& report);

}  // namespace ronde::bench
