#include "ronde/launch/stage/stage.h"

#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <set>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/launch/stage/carry.h"
#include "ronde/launch/stage/copy_tree.h"
#include "ronde/launch/stage/stage_item.h"
#include "ronde/topology/host.h"

namespace ronde::launch {
namespace {

namespace fs = std::filesystem;
using detail::NamedPath;
using detail::StageItem;

// Files on a cluster's file system answer slowly, each by itself; a few at a time keep a node's disk busy.
constexpr int kThreads = 8;

constexpr const char* kStageVariable = "STAGE_DIR";
constexpr const char* kUnstageVariable = "UNSTAGE_DIR";

// Results on this node, and where they go.
struct Results {
  NamedPath place;
  fs::path to;
  bool ours = true;  // made for this job, and removed after it
};

// A folder of this user's own below one that all may write to.
fs::path own_folder(const fs::path& below, const Environment& environment) {
  return below / fmt::format("ronde-{}", environment.get("USER").value_or(std::to_string(getuid())));
}

// In /tmp anybody could have made it before us and read, or change, what we put there.
void make_own_folder(const fs::path& folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    throw Error::system(errno, "cannot make the folder {}", folder.string());
  struct stat status {};
  if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid())
    throw Error::bad_input("{} belongs to another user; choose another folder with --stage-to", folder.string());
}

std::vector<fs::path> folders_to_try(const StageOptions& options) {
  if (!options.to.empty()) return {fs::absolute(options.to)};
  std::vector<fs::path> folders;
  for (const char* name : {"SLURM_TMPDIR", "TMPDIR"})
    if (const auto folder = options.environment.get(name); folder && !folder->empty()) folders.emplace_back(*folder);
  folders.emplace_back("/tmp");
  return folders;
}

detail::Candidate look_at(const fs::path& folder, std::uint64_t spoken_for) {
  std::error_code none;
  const bool writable = fs::is_directory(folder, none) && access(folder.c_str(), W_OK) == 0;
  const std::uint64_t available = writable ? topology::file_system(folder).available : 0;
  return {folder, available > spoken_for ? available - spoken_for : 0, writable};
}

void refuse_twice(std::set<std::string>& seen, const std::string& name, const char* flag) {
  if (!seen.insert(name).second)
    throw Error::bad_input("{}: two items are called {}; give one of them another name, as in SRC:NAME", flag, name);
}

void add_variables(const char* start, const std::vector<NamedPath>& places, Environment::Variables& variables) {
  if (places.empty()) return;
  variables[start] = places.front().path;
  for (const NamedPath& place : places)
    variables[detail::variable_for(fmt::format("{}_", start), place.name)] = place.path;
}

std::string bring_results(const Results& results, const std::string& host, detail::Progress& progress) {
  const fs::path &from = results.place.path, to = host.empty() ? results.to : results.to / host;
  if (!fs::exists(from)) return fmt::format("{} does not exist: nothing was copied back", from.string());
  const detail::Entries entries = detail::list_tree(from, kThreads, progress.stop);
  const bool is_file = entries.size() == 1 && entries.front().path.empty();
  progress.total += detail::total_bytes(entries);
  const std::string still_there =
      fmt::format("not all results were copied back; they are still in {} on this node", from.string());
  try {
    std::error_code failure;
    if (!entries.empty()) fs::create_directories(is_file ? to.parent_path() : to, failure);
    if (failure) throw Error::system(failure.value(), "cannot make {}", to.string());
    detail::copy_tree(entries, from, to, kThreads, progress);
  } catch (const Error& error) {
    throw Error(error.kind(), still_there, {.cause = std::make_shared<Error>(error)});
  }
  if (progress.stop) return still_there;
  if (results.ours) fs::remove_all(from);
  if (entries.empty()) return fmt::format("the job left no results in {}", from.string());
  return fmt::format("{} was copied back to {}: {} in {}", results.place.name, to.string(),
                     format_bytes(detail::total_bytes(entries)), counted(detail::count_files(entries), "file"));
}

}  // namespace

struct Staging::Plan {
  explicit Plan(StageOptions given) : options(std::move(given)) {}

  void add_item(const std::string& text);
  void add_results(const std::string& text);
  fs::path choose_place(StageItem& item, const fs::path& full);  // `full`: where the user wants it; empty: not said
  bool is_here(const StageItem& item) const;
  std::vector<NamedPath> staged() const;
  std::vector<NamedPath> unstaged() const;

  StageOptions options;
  std::vector<StageItem> items;
  std::vector<Results> results;
  std::set<std::string> names, result_names;
  std::map<fs::path, std::uint64_t> spoken_for;  // room that items before have been promised
  std::atomic<bool> stop{false};
};

// Where it is already, or else the first folder with room for it.
fs::path Staging::Plan::choose_place(StageItem& item, const fs::path& full) {
  std::vector<detail::Candidate> candidates;
  std::map<fs::path, fs::path> places;  // by candidate
  if (!full.empty()) places[full.parent_path()] = full;
  for (const fs::path& folder : full.empty() ? folders_to_try(options) : std::vector{full.parent_path()}) {
    const fs::path& place =
        places.try_emplace(folder, own_folder(folder, options.environment) / item.place.name).first->second;
    item.place.path = place;
    if (is_here(item)) return place;
    candidates.push_back(look_at(folder, spoken_for[folder]));
    if (const auto older = detail::read_manifest(place))  // it will make room
      candidates.back().available += detail::bytes_on_disk(older->entries);
  }
  if (options.trust) throw Error::bad_input("{} is not staged on this node", item.source.string());
  const fs::path folder = detail::choose_folder(candidates, item.bytes_needed(), item.source.string());
  spoken_for[folder] += item.bytes_needed();
  return places.at(folder);
}

bool Staging::Plan::is_here(const StageItem& item) const {
  if (!options.trust) return detail::is_up_to_date(item, stop);
  const auto manifest = detail::read_manifest(item.place.path);
  return manifest && manifest->source == item.source.string() && fs::exists(item.place.path);
}

void Staging::Plan::add_item(const std::string& text) {
  const auto [from, to] = detail::parse_from_to(text, "--stage");
  StageItem item{.source = fs::absolute(from).lexically_normal(), .place = {}};
  if (!options.trust && !fs::exists(item.source))
    throw Error::bad_input("--stage {}: there is no such file or folder", from.string());
  const bool full = fs::path(to).is_absolute();
  if (!full && fs::path(to).has_parent_path())
    throw Error::bad_input("--stage {}: write a name or an absolute path after the colon", text);
  item.place.name = detail::name_of(to.empty() ? from : fs::path(to));
  item.variable = detail::variable_for(fmt::format("{}_", kStageVariable), item.place.name);
  refuse_twice(names, item.place.name, "--stage");
  if (!options.trust) item.listing = detail::list_tree(item.source, kThreads, stop);
  if (fs::is_regular_file(item.source)) item.unpacker = detail::unpacker_for(item.source);
  item.place.path = choose_place(item, full ? fs::path(to).lexically_normal() : fs::path());
  items.push_back(std::move(item));
}

void Staging::Plan::add_results(const std::string& text) {
  const auto [what, where] = detail::parse_from_to(text, "--unstage");
  Results result{.place = {detail::name_of(what), what}, .to = {}, .ours = !what.is_absolute()};
  refuse_twice(result_names, result.place.name, "--unstage");
  result.to = fs::absolute(where.empty() ? fs::path(result.place.name) : fs::path(where)).lexically_normal();
  if (result.ours) {
    std::vector<detail::Candidate> candidates;
    for (const fs::path& folder : folders_to_try(options)) candidates.push_back(look_at(folder, 0));
    const fs::path folder = detail::choose_folder(candidates, 1, text);
    result.place.path = own_folder(folder, options.environment) / fmt::format("{}-{}", result.place.name, options.job);
  }
  results.push_back(std::move(result));
}

std::vector<NamedPath> Staging::Plan::staged() const {
  std::vector<NamedPath> places;
  for (const StageItem& item : items) places.push_back(item.place);
  return places;
}

std::vector<NamedPath> Staging::Plan::unstaged() const {
  std::vector<NamedPath> places;
  for (const Results& result : results) places.push_back(result.place);
  return places;
}

Staging::Staging(StageOptions options) : plan_(std::make_unique<Plan>(std::move(options))) {
  for (const std::string& text : plan_->options.stage) plan_->add_item(text);
  if (plan_->items.size() == 1) plan_->items.front().variable = kStageVariable;
  for (const std::string& text : plan_->options.unstage) plan_->add_results(text);
}

Staging::~Staging() = default;

int Staging::bring_in() {
  std::vector<detail::Carrier> carriers;
  const int threads = std::max(1, kThreads / std::max(1, static_cast<int>(plan_->items.size())));
  for (const StageItem& item : plan_->items) {
    const fs::path folder = item.place.path.parent_path();
    if (folder.filename().string().starts_with("ronde-")) make_own_folder(folder);
    carriers.emplace_back([&item, this, threads](detail::Progress& progress, const detail::Signals& signals) {
      return detail::bring(item, plan_->options.environment, threads, signals, progress);
    });
  }
  if (const int stopped = detail::carry(carriers, "staging", plan_->options.err)) return stopped;
  for (const Results& result : plan_->results) {
    if (!result.ours) continue;
    make_own_folder(result.place.path.parent_path());
    make_own_folder(result.place.path);
  }
  return 0;
}

int Staging::bring_back() {
  std::vector<detail::Carrier> carriers;
  for (const Results& result : plan_->results)
    carriers.emplace_back([&result, this](detail::Progress& progress, const detail::Signals&) {
      return bring_results(result, plan_->options.host, progress);
    });
  return detail::carry(carriers, "copying results back", plan_->options.err);
}

Environment::Variables Staging::variables() const {
  Environment::Variables variables;
  add_variables(kStageVariable, plan_->staged(), variables);
  add_variables(kUnstageVariable, plan_->unstaged(), variables);
  return variables;
}

std::vector<std::string> Staging::substituted(std::vector<std::string> command) const {
  for (std::string& word : command) {
    if (!plan_->items.empty()) word = detail::substitute(word, "stage", plan_->staged());
    if (!plan_->results.empty()) word = detail::substitute(word, "unstage", plan_->unstaged());
  }
  return command;
}

}  // namespace ronde::launch
