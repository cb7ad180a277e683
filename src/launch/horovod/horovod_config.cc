// Files for horovodrun's --config-file; see horovodrun.h. They are YAML, of which only nested maps of scalars are used.
#include <array>
#include <optional>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/launch/horovod/horovodrun.h"

namespace ronde::launch {
namespace {

enum class Kind {
  Value,   // the flag takes it
  Truth,   // the flag is given when it is true
  Either,  // the flag, or with --no- in front
};

struct Key {
  std::string_view path;
  Kind kind;
  std::string_view flag;
};

constexpr auto kKeys = std::to_array<Key>({
    {"verbose", Kind::Truth, "--verbose"},
    {"params.fusion_threshold_mb", Kind::Value, "--fusion-threshold-mb"},
    {"params.cycle_time_ms", Kind::Value, "--cycle-time-ms"},
    {"params.cache_capacity", Kind::Value, "--cache-capacity"},
    {"params.hierarchical_allreduce", Kind::Either, "--hierarchical-allreduce"},
    {"params.hierarchical_allgather", Kind::Either, "--hierarchical-allgather"},
    {"params.torus_allreduce", Kind::Either, "--torus-allreduce"},
    {"autotune.enabled", Kind::Either, "--autotune"},
    {"autotune.log_file", Kind::Value, "--autotune-log-file"},
    {"autotune.warmup_samples", Kind::Value, "--autotune-warmup-samples"},
    {"autotune.steps_per_sample", Kind::Value, "--autotune-steps-per-sample"},
    {"autotune.bayes_opt_max_samples", Kind::Value, "--autotune-bayes-opt-max-samples"},
    {"autotune.gaussian_process_noise", Kind::Value, "--autotune-gaussian-process-noise"},
    {"timeline.filename", Kind::Value, "--timeline-filename"},
    {"timeline.mark_cycles", Kind::Either, "--timeline-mark-cycles"},
    {"stall_check.enabled", Kind::Either, "--stall-check"},
    {"stall_check.warning_time_seconds", Kind::Value, "--stall-check-warning-time-seconds"},
    {"stall_check.shutdown_time_seconds", Kind::Value, "--stall-check-shutdown-time-seconds"},
    {"library_options.mpi_threads_disable", Kind::Either, "--mpi-threads-disable"},
    {"library_options.mpi_args", Kind::Value, "--mpi-args"},
    {"library_options.num_nccl_streams", Kind::Value, "--num-nccl-streams"},
    {"library_options.thread_affinity", Kind::Value, "--thread-affinity"},
    {"library_options.gloo_timeout_seconds", Kind::Value, "--gloo-timeout-seconds"},
    {"logging.level", Kind::Value, "--log-level"},
    {"logging.hide_timestamp", Kind::Either, "--log-hide-timestamp"},
    {"logging.with_timestamp", Kind::Truth, "--log-with-timestamp"},
});

// One line: how far it is indented, its key and its value. Nothing for a line that says nothing.
struct Line {
  std::size_t indent = 0;
  std::string key, value;
};

std::string_view without_comment(std::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quote == 0 && line[i] == '#' && (i == 0 || line[i - 1] == ' ')) return line.substr(0, i);
    if (quote == 0 && (line[i] == '"' || line[i] == '\''))
      quote = line[i];
    else if (line[i] == quote)
      quote = 0;
  }
  return line;
}

std::string unquoted(std::string_view value, const std::string& where) {
  if (value.empty() || (value.front() != '"' && value.front() != '\'')) {
    if (!value.empty() && std::string_view("[{&*|>!%@`").find(value.front()) != std::string_view::npos)
      throw Error::bad_input("{}: '{}' is not a string, number or boolean", where, value);
    return std::string(value);
  }
  if (value.size() < 2 || value.back() != value.front())
    throw Error::bad_input("{}: missing closing quote in {}", where, value);
  return std::string(value.substr(1, value.size() - 2));
}

std::optional<Line> parse_line(std::string_view text, const std::string& where) {
  const auto line = without_comment(text);
  const auto word = trim(line);
  if (word.empty() || word == "---") return {};
  if (line.find('\t') < line.find(word.front()))
    throw Error::bad_input("{}: YAML is indented with spaces, not tabs", where);
  const auto colon = word.find(':');
  const bool is_pair = colon != std::string_view::npos && (colon + 1 == word.size() || word[colon + 1] == ' ');
  if (!is_pair || word.front() == '-') throw Error::bad_input("{}: '{}' is not of the form 'key: value'", where, word);
  return Line{.indent = line.find(word.front()),
              .key = unquoted(trim(word.substr(0, colon)), where),
              .value = unquoted(trim(word.substr(colon + 1)), where)};
}

bool truth(const std::string& value, const std::string& where) {
  for (const auto* yes : {"true", "True", "yes", "on"})
    if (value == yes) return true;
  for (const auto* no : {"false", "False", "no", "off"})
    if (value == no) return false;
  throw Error::bad_input("{}: '{}' is neither true nor false", where, value);
}

void add_flag(const std::string& path, const std::string& value, const std::string& where,
              std::vector<std::string>& words) {
  std::vector<std::string> known;
  for (const Key& key : kKeys) {
    known.emplace_back(key.path);
    if (key.path != path) continue;
    if (value.empty()) throw Error::bad_input("{}: {} has no value", where, path);
    if (key.kind == Kind::Value)
      words.push_back(fmt::format("{}={}", key.flag, value));
    else if (truth(value, where))
      words.emplace_back(key.flag);
    else if (key.kind == Kind::Either)
      words.push_back("--no-" + std::string(key.flag.substr(2)));
    return;
  }
  const auto meant = nearest(path, known);
  throw Error::bad_input("{}: horovodrun has no '{}'{}", where, path, meant ? "; did you mean " + *meant + "?" : "");
}

}  // namespace

std::vector<std::string> parse_horovod_config(std::string_view text, const std::string& file) {
  std::vector<std::string> words;
  std::string group;      // the map that we are in; empty: the outermost
  std::size_t inner = 0;  // how far its lines are indented; 0: no line yet
  int number = 0;
  for (const auto raw : split(text, '\n')) {
    const std::string where = fmt::format("{}:{}", file, ++number);
    const auto line = parse_line(raw, where);
    if (!line) continue;
    if (line->indent == 0) {
      group = line->value.empty() ? line->key : "";
      inner = 0;
      if (group.empty()) add_flag(line->key, line->value, where, words);
      continue;
    }
    if (inner == 0) inner = line->indent;
    if (group.empty() || line->indent != inner)
      throw Error::bad_input("{}: the indentation of '{}' matches no line above it", where, line->key);
    add_flag(group + "." + line->key, line->value, where, words);
  }
  return words;
}

}  // namespace ronde::launch
