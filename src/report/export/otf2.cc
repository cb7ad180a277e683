#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/report/export/merge.h"
#include "ronde/report/export/otf2_archive.h"
#include "ronde/report/export/sink.h"
#include "ronde/report/export/span_order.h"
#include "ronde/trace/file/run.h"

namespace ronde::report::exporting {
namespace {

using trace::Lane;
using trace::ReadArg;
using trace::ReadEvent;
using trace::ReadTrack;

enum Kind : int { kRegion, kCollective, kCounter };

struct Operation {
  std::string_view name;
  OTF2_CollectiveOp op;
  OTF2_RegionRole role;
};
constexpr auto kOperations = std::to_array<Operation>({
    {"allreduce", OTF2_COLLECTIVE_OP_ALLREDUCE, OTF2_REGION_ROLE_COLL_ALL2ALL},
    {"reduce", OTF2_COLLECTIVE_OP_REDUCE, OTF2_REGION_ROLE_COLL_ALL2ONE},
    {"allgather", OTF2_COLLECTIVE_OP_ALLGATHERV, OTF2_REGION_ROLE_COLL_ALL2ALL},
    {"gather", OTF2_COLLECTIVE_OP_GATHERV, OTF2_REGION_ROLE_COLL_ALL2ONE},
    {"scatter", OTF2_COLLECTIVE_OP_SCATTERV, OTF2_REGION_ROLE_COLL_ONE2ALL},
    {"broadcast", OTF2_COLLECTIVE_OP_BCAST, OTF2_REGION_ROLE_COLL_ONE2ALL},
    {"alltoall", OTF2_COLLECTIVE_OP_ALLTOALLV, OTF2_REGION_ROLE_COLL_ALL2ALL},
    {"reduce_scatter", OTF2_COLLECTIVE_OP_REDUCE_SCATTER, OTF2_REGION_ROLE_COLL_ALL2ALL},
    {"barrier", OTF2_COLLECTIVE_OP_BARRIER, OTF2_REGION_ROLE_BARRIER},
});

const Operation* operation_of(std::string_view name) {
  const auto* found = std::ranges::find(kOperations, name, &Operation::name);
  return found == kOperations.end() ? nullptr : found;
}

// A row being written: a location of the archive.
class Row final : public SpanOrder::Out {
 public:
  Row(Otf2Archive& archive, int rank, const ReadTrack::Kind kind, std::string_view name)
      : archive_(archive), lane_(trace::lane_kind(name)), location_(archive.location(rank, name, type(kind))) {
    if (lane_ != Lane::Kind::Move) return;
    communicator_ = archive.communicator(name.substr(std::string_view("move: ").size()));
    archive.join(*communicator_, rank, location_);
  }
  ~Row() override {
    if (attributes_) OTF2_AttributeList_Delete(attributes_);
  }
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;

  OTF2_LocationRef location() const { return location_; }

  void begin(const ReadEvent& event) { order_.begin(span_of(event)); }
  void end(const ReadEvent& event) { order_.end(event.time); }
  void moment(const ReadEvent& event) {
    RowSpan span = span_of(event);
    span.end = span.begin;
    order_.begin(std::move(span));
  }
  void counter(OTF2_MetricRef metric, double value, std::int64_t time) {
    order_.begin({.begin = time, .end = time, .kind = kCounter, .what = metric, .value = value});
  }
  void finish() {
    order_.finish();
    archive_.close_events(location_, writer());  // readers want a file of every row, be it empty
    writer_ = nullptr;
  }

  void enter(const RowSpan& span, std::int64_t time) override {
    const auto at = static_cast<OTF2_TimeStamp>(time);
    if (span.kind == kCounter) return write_counter(span, at);
    otf2_check(OTF2_EvtWriter_Enter(writer(), attributes_of(span), at, span.what), "an event");
    if (span.kind == kCollective) otf2_check(OTF2_EvtWriter_MpiCollectiveBegin(writer(), nullptr, at), "an event");
  }
  void leave(const RowSpan& span, std::int64_t time) override {
    const auto at = static_cast<OTF2_TimeStamp>(time);
    if (span.kind == kCounter) return;
    if (span.kind == kCollective) {
      const auto bytes = static_cast<std::uint64_t>(span.value);
      otf2_check(OTF2_EvtWriter_MpiCollectiveEnd(writer(), nullptr, at, operations_[span.what], *communicator_,
                                                 OTF2_COLLECTIVE_ROOT_NONE, bytes, bytes),
                 "an event");
    }
    otf2_check(OTF2_EvtWriter_Leave(writer(), nullptr, at, span.what), "an event");
  }

 private:
  OTF2_LocationType type(ReadTrack::Kind kind) const {
    if (kind == ReadTrack::Kind::Counter) return OTF2_LOCATION_TYPE_METRIC;
    if (lane_ == Lane::Kind::Device) return OTF2_LOCATION_TYPE_ACCELERATOR_STREAM;
    return OTF2_LOCATION_TYPE_CPU_THREAD;
  }

  OTF2_EvtWriter* writer() {
    if (!writer_) writer_ = archive_.open_events(location_);
    return writer_;
  }

  RowSpan span_of(const ReadEvent& event) {
    RowSpan span{.begin = event.time};
    const Operation* operation = communicator_ ? operation_of(event.name) : nullptr;
    OTF2_Paradigm paradigm = OTF2_PARADIGM_USER;
    if (operation) paradigm = OTF2_PARADIGM_MPI;
    if (lane_ == Lane::Kind::Device) paradigm = OTF2_PARADIGM_CUDA;
    span.kind = operation ? kCollective : kRegion;
    const OTF2_RegionRole role = operation ? operation->role : OTF2_RegionRole{OTF2_REGION_ROLE_FUNCTION};
    span.what = archive_.region(event.name, event.category, role, paradigm);
    if (operation) operations_[span.what] = operation->op;
    for (const ReadArg& arg : event.args) add(span, arg);
    return span;
  }

  void add(RowSpan& span, const ReadArg& arg) {
    if (const auto* number = std::get_if<std::int64_t>(&arg.value)) {
      if (arg.key == "bytes") span.value = static_cast<double>(std::max<std::int64_t>(0, *number));
      span.attributes.emplace_back(archive_.attribute(arg.key, OTF2_TYPE_INT64), *number);
    } else if (const auto* real = std::get_if<double>(&arg.value)) {
      span.attributes.emplace_back(archive_.attribute(arg.key, OTF2_TYPE_DOUBLE), *real);
    } else {
      span.attributes.emplace_back(archive_.attribute(arg.key, OTF2_TYPE_STRING),
                                   archive_.text(std::get<std::string_view>(arg.value)));
    }
  }

  // Null: it has none. A writer empties the list.
  OTF2_AttributeList* attributes_of(const RowSpan& span) {
    if (span.attributes.empty()) return nullptr;
    if (!attributes_) attributes_ = OTF2_AttributeList_New();
    if (!attributes_) throw Error(Error::Kind::System, "libotf2 cannot allocate memory for arguments");
    otf2_check(OTF2_AttributeList_RemoveAllAttributes(attributes_), "arguments");
    for (const auto& [key, value] : span.attributes) {
      if (OTF2_AttributeList_TestAttributeByID(attributes_, key)) continue;  // given twice
      if (const auto* number = std::get_if<std::int64_t>(&value))
        otf2_check(OTF2_AttributeList_AddInt64(attributes_, key, *number), "an argument");
      else if (const auto* real = std::get_if<double>(&value))
        otf2_check(OTF2_AttributeList_AddDouble(attributes_, key, *real), "an argument");
      else
        otf2_check(OTF2_AttributeList_AddStringRef(attributes_, key, std::get<std::uint32_t>(value)), "an argument");
    }
    return attributes_;
  }

  void write_counter(const RowSpan& span, OTF2_TimeStamp at) {
    const OTF2_Type type = OTF2_TYPE_DOUBLE;
    OTF2_MetricValue value{};
    value.floating_point = span.value;
    otf2_check(OTF2_EvtWriter_Metric(writer(), nullptr, at, span.what, 1, &type, &value), "a counter");
  }

  Otf2Archive& archive_;
  const Lane::Kind lane_;
  const OTF2_LocationRef location_;
  std::optional<OTF2_CommRef> communicator_;
  std::unordered_map<OTF2_RegionRef, OTF2_CollectiveOp> operations_;
  OTF2_EvtWriter* writer_ = nullptr;
  OTF2_AttributeList* attributes_ = nullptr;
  SpanOrder order_{*this};
};

class Otf2Sink final : public Sink {
 public:
  Otf2Sink(const std::filesystem::path& folder, std::int64_t begin) : archive_(folder), begin_(begin), end_(begin) {}

  void track(const ReadTrack& track) override {
    if (track.kind == ReadTrack::Kind::Process) {
      close_rows();  // ranks come one after the other: only one has its files open
      archive_.rank(track.rank, track.name);
      archive_.property(track.rank, "process", track.label);
      return;
    }
    if (track.kind != ReadTrack::Kind::Counter) {
      rows_.try_emplace(track.uuid, std::make_unique<Row>(archive_, track.rank, track.kind, track.name));
      return;
    }
    if (!counters_) counters_ = std::make_unique<Row>(archive_, track.rank, track.kind, "counters");
    metrics_[track.uuid] = archive_.metric_of(archive_.metric(track.name), counters_->location(), track.rank);
  }

  void event(const ReadEvent& event) override {
    if (static_cast<std::uint32_t>(event.track) == 0) return note(event);
    end_ = std::max(end_, event.time);
    if (event.type == ReadEvent::Type::Counter) {
      const auto metric = metrics_.find(event.track);
      if (metric != metrics_.end()) counters_->counter(metric->second, event.value, event.time);
      return;
    }
    const auto row = rows_.find(event.track);
    if (row == rows_.end())
      throw Error::bad_input("the events of rank {} are mixed with those of others: merge the original files",
                             event.rank);
    switch (event.type) {
      case ReadEvent::Type::Begin: return row->second->begin(event);
      case ReadEvent::Type::End: return row->second->end(event);
      default: return row->second->moment(event);
    }
  }

  void finish() override {
    close_rows();
    archive_.finish(begin_, end_);
  }

 private:
  void close_rows() {
    for (const auto& [uuid, row] : rows_) row->finish();
    if (counters_) counters_->finish();
    rows_.clear();
    metrics_.clear();
    counters_.reset();
  }

  // What a rank tells of itself.
  void note(const ReadEvent& event) {
    if (event.name != "metadata") return;
    for (const ReadArg& arg : event.args) {
      const auto* text = std::get_if<std::string_view>(&arg.value);
      if (!text) continue;
      if (arg.key == "host") archive_.host(event.rank, *text);
      archive_.property(event.rank, arg.key, *text);
    }
  }

  Otf2Archive archive_;
  const std::int64_t begin_;
  std::int64_t end_;
  std::map<std::uint64_t, std::unique_ptr<Row>> rows_;  // of the rank that is being written
  std::unique_ptr<Row> counters_;
  std::unordered_map<std::uint64_t, OTF2_MetricRef> metrics_;
};

}  // namespace

bool has_otf2() {
  return true;
}

std::unique_ptr<Sink> otf2_sink(const std::filesystem::path& folder, std::int64_t begin) {
  return std::make_unique<Otf2Sink>(folder, begin);
}

}  // namespace ronde::report::exporting
