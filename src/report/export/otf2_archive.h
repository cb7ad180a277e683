#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <otf2/otf2.h>

namespace ronde::report::exporting {

// FAILS WITH: System, with libotf2's words.
void otf2_check(OTF2_ErrorCode code, std::string_view what);

// Numbers from 0 up in the order of coming, the same one for the same thing.
template <class Thing, class Number>
class Numbered {
 public:
  Number number(Thing thing) {
    const auto [found, fresh] = numbers_.try_emplace(std::move(thing), static_cast<Number>(numbers_.size()));
    if (fresh) in_order_.push_back(&found->first);
    return found->second;
  }
  std::size_t size() const { return in_order_.size(); }
  const Thing& operator[](Number number) const { return *in_order_[number]; }

 private:
  std::map<Thing, Number> numbers_;
  std::vector<const Thing*> in_order_;  // tools want definitions in the order of their numbers
};

// An OTF2 archive being written: numbers for what is defined, the event files, and the definitions at the end. Not
// thread-safe.
class Otf2Archive {
 public:
  // FAILS WITH: System.
  explicit Otf2Archive(const std::filesystem::path& folder);
  ~Otf2Archive();
  Otf2Archive(const Otf2Archive&) = delete;
  Otf2Archive& operator=(const Otf2Archive&) = delete;

  // Equal ones have one number.
  OTF2_StringRef text(std::string_view text);
  OTF2_RegionRef region(std::string_view name, std::string_view category, OTF2_RegionRole role, OTF2_Paradigm paradigm);
  OTF2_AttributeRef attribute(std::string_view name, OTF2_Type type);
  OTF2_MetricRef metric(std::string_view name);  // its class
  OTF2_CommRef communicator(std::string_view group);

  // New ones.
  void rank(int rank, std::string_view name);
  void host(int rank, std::string_view name);
  void property(int rank, std::string_view key, std::string_view value);
  OTF2_LocationRef location(int rank, std::string_view name, OTF2_LocationType type);
  OTF2_MetricRef metric_of(OTF2_MetricRef metric_class, OTF2_LocationRef recorder, int rank);
  // Whose collectives are those of the group.
  void join(OTF2_CommRef communicator, int rank, OTF2_LocationRef location);

  OTF2_EvtWriter* open_events(OTF2_LocationRef location);
  void close_events(OTF2_LocationRef location, OTF2_EvtWriter* writer);

  // Times are nanoseconds since 1970.
  void finish(std::int64_t begin, std::int64_t end);

 private:
  struct Rank {
    std::string name = {}, host = {};
    std::vector<std::pair<std::string, std::string>> properties = {};
  };
  struct Location {
    int rank = 0;
    OTF2_StringRef name = 0;
    OTF2_LocationType type = 0;
    std::uint64_t events = 0;
  };
  // A counter, or, where it has a class, that counter on one rank.
  struct Metric {
    OTF2_StringRef name = 0;
    std::optional<OTF2_MetricRef> metric_class = {};
    OTF2_LocationRef recorder = 0;
    int rank = 0;
  };
  using RegionKey = std::tuple<OTF2_StringRef, OTF2_StringRef, OTF2_RegionRole, OTF2_Paradigm>;

  void write_system(OTF2_GlobalDefWriter* out);
  void write_metrics(OTF2_GlobalDefWriter* out);
  void write_communicators(OTF2_GlobalDefWriter* out);
  void close();

  OTF2_Archive* archive_ = nullptr;
  Numbered<std::string, OTF2_StringRef> texts_;
  Numbered<RegionKey, OTF2_RegionRef> regions_;
  Numbered<std::pair<OTF2_StringRef, OTF2_Type>, OTF2_AttributeRef> attributes_;
  std::map<OTF2_StringRef, OTF2_MetricRef> metric_classes_;
  std::vector<Metric> metrics_;  // of both sorts, which share their numbers
  std::map<int, Rank> ranks_;
  std::vector<Location> locations_;
  Numbered<OTF2_StringRef, OTF2_CommRef> communicators_;
  std::map<OTF2_CommRef, std::map<int, OTF2_LocationRef>> members_;
};

}  // namespace ronde::report::exporting
