#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ronde/data/sample_kind.h"
#include "ronde/data/training/preparation.h"

namespace ronde {
class Settings;
}

namespace ronde::train {

// What decides, besides other settings, whether a setting counts.
struct UseFacts {
  data::Preparation preparation = data::Preparation::Drawn;  // of the training samples,
  data::SampleKind kind = {};                                // and what they are
  bool has_norms = true;                                     // the network asks for norms
  // The settings that a user's optimizer reads; nothing: the optimizer is a built-in one.
  std::optional<std::vector<std::string>> own_optimizer = {};
};

// A setting that somebody has set, and that means nothing to this training.
struct Unused {
  std::string key, text, origin;
  std::string why;
  // Somebody would take the result for that of another training: to be refused. Otherwise it is a matter of speed or of
  // records, or a line of a recipe (or of a configuration file) that was overtaken when somebody chose other data or
  // another schedule; to be told.
  bool refused = false;

  // "data.flip = 'true' (from --data-flip) has no effect: digits are never mirrored".
  std::string sentence() const;
};

// In the order of the list of settings. Defaults are never among them, nor values that ask for what happens anyway
// (data.jitter = 0). Settings that only some hardware or some number of ranks makes use of are left alone, so that a
// recipe fits all machines. Pure.
std::vector<Unused> unused_settings(const Settings& settings, const UseFacts& facts);

}  // namespace ronde::train
