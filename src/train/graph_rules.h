#pragma once

#include <string>

namespace ronde::train {

// What decides whether a whole step can be recorded and launched as one.
struct GraphFacts {
  std::string setting = "auto";  // train.graph
  bool on_gpu = false;
  std::string why_no_graphs = {};  // of this build; empty: it has them
  std::string optimizer = "sgd";   // optimizer.name,
  bool fused = true;               // and whether its steps need nothing of the host
  bool f16_on_host = false;        // overflows are looked for by the host
  bool local = false;              // train.sync_every
  int ranks = 1;
  // Of several ranks that exchange gradients:
  std::string why_not_nccl = {};     // comm::Group::why_not_nccl()
  std::string reduce = "average";    // train.reduce
  std::string compression = "none";  // train.compression
  bool synced_norms = false;         // model.norm
  bool traced_modules = false;       // trace.modules, trace.operators
  bool recompute = false;            // model.recompute
};

// Why not, in one sentence; empty: it can. Pure.
std::string why_no_graph(const GraphFacts& facts);

}  // namespace ronde::train
