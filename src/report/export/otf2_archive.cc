#include "ronde/report/export/otf2_archive.h"

#include "ronde/base/error.h"
#include "ronde/base/version.h"

namespace ronde::report::exporting {
namespace {

constexpr std::uint64_t kEventChunk = 1 << 20, kDefinitionChunk = 4 << 20;
constexpr std::uint64_t kTicks = 1'000'000'000;

OTF2_FlushType flush_always(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
  return OTF2_FLUSH;
}
constexpr OTF2_FlushCallbacks kFlush{.otf2_pre_flush = flush_always, .otf2_post_flush = nullptr};

}  // namespace

void otf2_check(OTF2_ErrorCode code, std::string_view what) {
  if (code != OTF2_SUCCESS)
    throw Error(Error::Kind::System, fmt::format("libotf2 cannot write {}: {}", what, OTF2_Error_GetDescription(code)));
}

Otf2Archive::Otf2Archive(const std::filesystem::path& folder)
    : archive_(OTF2_Archive_Open(folder.c_str(), "traces", OTF2_FILEMODE_WRITE, kEventChunk, kDefinitionChunk,
                                 OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE)) {
  if (!archive_) throw Error(Error::Kind::System, fmt::format("cannot make the OTF2 archive {}", folder.string()));
  const std::string creator = fmt::format("ronde {}", version());
  otf2_check(OTF2_Archive_SetFlushCallbacks(archive_, &kFlush, nullptr), "the archive");
  otf2_check(OTF2_Archive_SetSerialCollectiveCallbacks(archive_), "the archive");
  otf2_check(OTF2_Archive_SetCreator(archive_, creator.c_str()), "the archive");
  otf2_check(OTF2_Archive_OpenEvtFiles(archive_), "event files");
  text("");
}

Otf2Archive::~Otf2Archive() {
  if (archive_) OTF2_Archive_Close(archive_);
}

OTF2_StringRef Otf2Archive::text(std::string_view text) {
  return texts_.number(std::string(text));
}

OTF2_RegionRef Otf2Archive::region(std::string_view name, std::string_view category, OTF2_RegionRole role,
                                   OTF2_Paradigm paradigm) {
  return regions_.number({text(name), text(category), role, paradigm});
}

OTF2_AttributeRef Otf2Archive::attribute(std::string_view name, OTF2_Type type) {
  return attributes_.number({text(name), type});
}

OTF2_MetricRef Otf2Archive::metric(std::string_view name) {
  const auto next = static_cast<OTF2_MetricRef>(metrics_.size());
  const auto [found, fresh] = metric_classes_.try_emplace(text(name), next);
  if (fresh) metrics_.push_back({.name = found->first});
  return found->second;
}

OTF2_CommRef Otf2Archive::communicator(std::string_view group) {
  return communicators_.number(text(group));
}

void Otf2Archive::rank(int rank, std::string_view name) {
  ranks_[rank].name = name;
}

void Otf2Archive::host(int rank, std::string_view name) {
  ranks_[rank].host = name;
}

void Otf2Archive::property(int rank, std::string_view key, std::string_view value) {
  ranks_[rank].properties.emplace_back(key, value);
}

OTF2_LocationRef Otf2Archive::location(int rank, std::string_view name, OTF2_LocationType type) {
  locations_.push_back({.rank = rank, .name = text(name), .type = type});
  return locations_.size() - 1;
}

OTF2_MetricRef Otf2Archive::metric_of(OTF2_MetricRef metric_class, OTF2_LocationRef recorder, int rank) {
  metrics_.push_back({.metric_class = metric_class, .recorder = recorder, .rank = rank});
  return static_cast<OTF2_MetricRef>(metrics_.size() - 1);
}

void Otf2Archive::join(OTF2_CommRef communicator, int rank, OTF2_LocationRef location) {
  members_[communicator].try_emplace(rank, location);
}

OTF2_EvtWriter* Otf2Archive::open_events(OTF2_LocationRef location) {
  OTF2_EvtWriter* writer = OTF2_Archive_GetEvtWriter(archive_, location);
  if (!writer) throw Error(Error::Kind::System, "libotf2 cannot write another file of events");
  return writer;
}

void Otf2Archive::close_events(OTF2_LocationRef location, OTF2_EvtWriter* writer) {
  otf2_check(OTF2_EvtWriter_GetNumberOfEvents(writer, &locations_[location].events), "events");
  otf2_check(OTF2_Archive_CloseEvtWriter(archive_, writer), "events");
}

void Otf2Archive::finish(std::int64_t begin, std::int64_t end) {
  otf2_check(OTF2_Archive_CloseEvtFiles(archive_), "event files");
  otf2_check(OTF2_Archive_OpenDefFiles(archive_), "definitions");
  for (OTF2_LocationRef location = 0; location < locations_.size(); ++location) {
    OTF2_DefWriter* local = OTF2_Archive_GetDefWriter(archive_, location);  // nothing in it, but readers want the file
    if (!local) throw Error(Error::Kind::System, "libotf2 cannot write definitions");
    otf2_check(OTF2_Archive_CloseDefWriter(archive_, local), "definitions");
  }
  otf2_check(OTF2_Archive_CloseDefFiles(archive_), "definitions");
  OTF2_GlobalDefWriter* out = OTF2_Archive_GetGlobalDefWriter(archive_);
  if (!out) throw Error(Error::Kind::System, "libotf2 cannot write definitions");
  const auto start = static_cast<std::uint64_t>(begin), length = static_cast<std::uint64_t>(end - begin);
  otf2_check(OTF2_GlobalDefWriter_WriteClockProperties(out, kTicks, start, length, start), "its clock");
  // From here on no text is new.
  for (const char* words : {"machine", "node", "#", "all ranks"}) text(words);
  for (const auto& [number, rank] : ranks_) {
    text(rank.name);
    text(rank.host);
    for (const auto& [key, value] : rank.properties) {
      text(key);
      text(value);
    }
  }
  for (OTF2_StringRef self = 0; self < texts_.size(); ++self)
    otf2_check(OTF2_GlobalDefWriter_WriteString(out, self, texts_[self].c_str()), "a name");
  for (OTF2_AttributeRef self = 0; self < attributes_.size(); ++self) {
    const auto [name, type] = attributes_[self];
    otf2_check(OTF2_GlobalDefWriter_WriteAttribute(out, self, name, text(""), type), "an argument");
  }
  for (OTF2_RegionRef self = 0; self < regions_.size(); ++self) {
    const auto [name, category, role, paradigm] = regions_[self];
    otf2_check(OTF2_GlobalDefWriter_WriteRegion(out, self, name, name, category, role, paradigm, OTF2_REGION_FLAG_NONE,
                                                text(""), 0, 0),
               "a region");
  }
  write_system(out);
  write_metrics(out);
  write_communicators(out);
  close();
}

void Otf2Archive::write_system(OTF2_GlobalDefWriter* out) {
  constexpr OTF2_SystemTreeNodeRef kMachine = 0;
  otf2_check(OTF2_GlobalDefWriter_WriteSystemTreeNode(out, kMachine, text("machine"), text("machine"),
                                                      OTF2_UNDEFINED_SYSTEM_TREE_NODE),
             "the machine");
  otf2_check(OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(out, kMachine, OTF2_SYSTEM_TREE_DOMAIN_MACHINE),
             "the machine");
  std::map<std::string, OTF2_SystemTreeNodeRef> hosts;
  for (const auto& [number, rank] : ranks_) {
    const auto [host, fresh] = hosts.try_emplace(rank.host, static_cast<OTF2_SystemTreeNodeRef>(hosts.size() + 1));
    if (fresh) {
      otf2_check(OTF2_GlobalDefWriter_WriteSystemTreeNode(out, host->second, text(rank.host), text("node"), kMachine),
                 "a host");
      otf2_check(
          OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(out, host->second, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY),
          "a host");
    }
    const auto group = static_cast<OTF2_LocationGroupRef>(number);
    otf2_check(OTF2_GlobalDefWriter_WriteLocationGroup(out, group, text(rank.name), OTF2_LOCATION_GROUP_TYPE_PROCESS,
                                                       host->second, OTF2_UNDEFINED_LOCATION_GROUP),
               "a rank");
    for (const auto& [key, value] : rank.properties) {
      OTF2_AttributeValue words{};
      words.stringRef = text(value);
      otf2_check(OTF2_GlobalDefWriter_WriteLocationGroupProperty(out, group, text(key), OTF2_TYPE_STRING, words),
                 "a rank");
    }
  }
  for (OTF2_LocationRef self = 0; self < locations_.size(); ++self) {
    const Location& location = locations_[self];
    otf2_check(OTF2_GlobalDefWriter_WriteLocation(out, self, location.name, location.type, location.events,
                                                  static_cast<OTF2_LocationGroupRef>(location.rank)),
               "a row");
  }
}

void Otf2Archive::write_metrics(OTF2_GlobalDefWriter* out) {
  OTF2_MetricMemberRef member = 0;
  for (OTF2_MetricRef self = 0; self < metrics_.size(); ++self) {
    const Metric& one = metrics_[self];
    if (one.metric_class) {
      otf2_check(
          OTF2_GlobalDefWriter_WriteMetricInstance(out, self, *one.metric_class, one.recorder,
                                                   OTF2_SCOPE_LOCATION_GROUP, static_cast<std::uint64_t>(one.rank)),
          "a counter");
      continue;
    }
    otf2_check(OTF2_GlobalDefWriter_WriteMetricMember(out, member, one.name, text(""), OTF2_METRIC_TYPE_USER,
                                                      OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_DOUBLE, OTF2_BASE_DECIMAL,
                                                      0, text("#")),
               "a counter");
    otf2_check(OTF2_GlobalDefWriter_WriteMetricClass(out, self, 1, &member, OTF2_METRIC_ASYNCHRONOUS,
                                                     OTF2_RECORDER_KIND_ABSTRACT),
               "a counter");
    ++member;
  }
}

// Groups of ranks are MPI's communicators, for tools that know of those: each rank is there with one row, that of its
// first group.
void Otf2Archive::write_communicators(OTF2_GlobalDefWriter* out) {
  if (members_.empty()) return;
  std::map<int, OTF2_LocationRef> rows;
  for (const auto& [communicator, members] : members_) rows.insert(members.begin(), members.end());
  std::vector<std::uint64_t> all;
  std::map<int, std::uint64_t> index;
  for (const auto& [rank, row] : rows) {
    index[rank] = all.size();
    all.push_back(row);
  }
  otf2_check(
      OTF2_GlobalDefWriter_WriteGroup(out, 0, text("all ranks"), OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                      OTF2_GROUP_FLAG_NONE, static_cast<std::uint32_t>(all.size()), all.data()),
      "a group");
  for (OTF2_CommRef self = 0; self < communicators_.size(); ++self) {
    const OTF2_StringRef name = communicators_[self];
    std::vector<std::uint64_t> members;
    for (const auto& [rank, row] : members_[self]) members.push_back(index.at(rank));
    otf2_check(OTF2_GlobalDefWriter_WriteGroup(out, self + 1, name, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                               OTF2_GROUP_FLAG_NONE, static_cast<std::uint32_t>(members.size()),
                                               members.data()),
               "a group");
    otf2_check(OTF2_GlobalDefWriter_WriteComm(out, self, name, self + 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE),
               "a group");
  }
}

void Otf2Archive::close() {
  otf2_check(OTF2_Archive_Close(std::exchange(archive_, nullptr)), "the archive");
}

}  // namespace ronde::report::exporting
