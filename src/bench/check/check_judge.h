#pragma once

#include <string>
#include <vector>

#include "ronde/bench/check/check_facts.h"
#include "ronde/bench/check/check_links.h"

// What `ronde run --check` makes of what it has seen. Pure.
namespace ronde::bench::detail {

// Everything that the ranks have found out together.
struct CheckResults {
  std::vector<RankFacts> ranks = {};
  Nodes nodes = {};
  std::vector<NodeFacts> node_facts = {};  // by node
  // From here on: what needs an engine, empty when there was none.
  std::vector<StartTimes> start = {};       // by rank
  std::vector<double> clock_offset_s = {};  // by node: how far its clock is ahead of the first node's
  std::vector<LinkFigures> links = {};
  std::vector<int> wrong_ranks = {};  // whose allreduce was wrong
  std::string failure = {};           // why there was no engine, or what it failed with
};

struct Finding {
  bool wrong = true;  // false: a note
  std::string text;   // one sentence
};

// The important ones first.
std::vector<Finding> judge(const CheckResults& results);

// One line: "check: all is well with ..." or what is wrong first.
std::string verdict(const CheckResults& results, const std::vector<Finding>& findings);

// One row a node.
std::string check_table(const CheckResults& results);

// Where the time of the start went: "start-up took 1.2 s: 0.3 s ...".
std::string start_text(const CheckResults& results);

}  // namespace ronde::bench::detail
