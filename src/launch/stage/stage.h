#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "ronde/base/settings/environment.h"
#include "ronde/launch/run/job.h"

namespace ronde::launch {

struct StageOptions {
  std::vector<std::string> stage = {};    // --stage SRC[:DEST]: copied or unpacked to this node before the start
  std::vector<std::string> unstage = {};  // --unstage WHAT[:WHERE]: brought back afterwards
  std::filesystem::path to = {};          // --stage-to; empty: SLURM_TMPDIR, TMPDIR, /tmp, the first with enough room
  std::string job = {};                   // its number; folders for results are named after it
  std::string host = {};                  // of several nodes: results go to a folder of this name inside WHERE
  bool trust = false;  // where ranks only want to know the place: what is staged is not compared with its source
  Environment environment;
  Stream err = {.descriptor = 2};  // what the user is told
};

// Data of a job on the storage of this node. On several nodes each does this by itself, `ronde stage` once a node.
//
//   Staging staging(options);              // looks, decides
//   staging.bring_in();                    // copies
//   ... start ranks with staging.variables() and staging.substituted(command) ...
//   staging.bring_back();
//
// SRC, a file or a folder, is copied; a tar (also .gz, .zst, .bz2, .xz) or zip is unpacked. It then lies in
// DIR/ronde-USER/NAME, where DIR is options.to and NAME is DEST or that of SRC; at DEST itself where that is a full
// path. Ranks find the first one as STAGE_DIR and each as STAGE_DIR_NAME; {stage} and {stage:NAME} in their command
// stand for the same. It stays there; the next job that wants it finds it when neither it nor SRC has changed.
//
// WHAT is a folder for results on this node: an empty one for this job (or, where it is a full path, whatever is
// there). Ranks find it as UNSTAGE_DIR, UNSTAGE_DIR_NAME, {unstage} and {unstage:NAME}. Its content goes to WHERE, by
// default WHAT in the current folder; files there are overwritten, others stay.
class Staging {
 public:
  // FAILS WITH: BadInput for a source that is not there, names that are used twice, or no room; with options.trust, for
  // what is not staged.
  explicit Staging(StageOptions options);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Both return 0, or 128 + the signal that has stopped them.
  // REQUIRES: the process has no other children and no other threads.
  // FAILS WITH: BadInput, System. What has not come whole is removed; results that were not brought back stay.
  int bring_in();
  int bring_back();

  Environment::Variables variables() const;
  // FAILS WITH: BadInput for {stage} or {unstage} of something that is none.
  std::vector<std::string> substituted(std::vector<std::string> command) const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace ronde::launch
