#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "ronde/base/error.h"
#include "ronde/report/export/horovod_names.h"
#include "ronde/report/export/sink.h"
#include "ronde/trace/file/run.h"

namespace ronde::report::exporting {
namespace {

using trace::Lane;
using trace::ReadArg;
using trace::ReadEvent;
using trace::ReadTrack;

constexpr std::size_t kChunk = 1 << 20;
constexpr std::size_t kMostHeld = std::size_t{1}
                                  << 16;        // rounds and collectives of a group; a file is in disorder by far less
constexpr std::uint32_t kQueueRows = 1u << 29;  // the row of a group's queue is that of its agreements, and this

// Text in quotes. Bytes that are no UTF-8 become a replacement character.
std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// JSON has no word for what is no number.
std::string real_text(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

std::string value_text(const ReadArg& arg) {
  if (const auto* number = std::get_if<std::int64_t>(&arg.value)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&arg.value)) return real_text(*real);
  return json_string(std::get<std::string_view>(arg.value));
}

std::int64_t integer(const ReadEvent& event, std::string_view key, std::int64_t otherwise) {
  for (const ReadArg& arg : event.args)
    if (const auto* value = std::get_if<std::int64_t>(&arg.value); value && arg.key == key) return *value;
  return otherwise;
}

// The file: an array, an event a line.
class JsonFile {
 public:
  explicit JsonFile(const std::filesystem::path& path) : path_(path), file_(std::fopen(path.c_str(), "wb")) {
    if (!file_) fail();
    text_ = "[\n";
  }
  ~JsonFile() {
    if (file_) std::fclose(file_);
  }
  JsonFile(const JsonFile&) = delete;
  JsonFile& operator=(const JsonFile&) = delete;

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    if (!std::exchange(first_, false)) text_ += ",\n";
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    if (text_.size() >= kChunk) flush();
  }
  void finish() {
    text_ += "\n]\n";
    flush();
    if (std::fclose(std::exchange(file_, nullptr)) != 0) fail();
  }

 private:
  [[noreturn]] void fail() const { throw Error::system(errno, "cannot write {}", path_.string()); }
  void flush() {
    if (std::fwrite(text_.data(), 1, text_.size(), file_) != text_.size()) fail();
    text_.clear();
  }

  const std::filesystem::path path_;
  std::FILE* file_;
  std::string text_;
  bool first_ = true;
};

class ChromeSink final : public Sink {
 public:
  ChromeSink(const std::filesystem::path& file, std::int64_t begin, bool cycles)
      : file_(file), begin_(begin), cycles_(cycles) {}

  void track(const ReadTrack& track) override {
    Row row{.rank = track.rank, .number = static_cast<std::uint32_t>(track.uuid), .name = json_string(track.name)};
    if (track.kind == ReadTrack::Kind::Process) {
      write_groups();  // ranks come one after the other
      file_.line(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", track.rank, row.name);
      file_.line(R"({{"ph":"M","name":"process_labels","pid":{},"args":{{"labels":{}}}}})", track.rank,
                 json_string(track.label));
      file_.line(R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}}}})", track.rank,
                 track.rank);
    } else if (track.kind != ReadTrack::Kind::Counter) {
      row.kind = trace::lane_kind(track.name);
      name_row(row.rank, row.number, row.name);
      if (row.kind == Lane::Kind::Agree || row.kind == Lane::Kind::Move)
        row.group = &group_of(track.rank, track.name.substr(track.name.find(':') + 2));
      if (row.kind == Lane::Kind::Agree) row.group->agree = row.number;
    }
    rows_[track.uuid] = std::move(row);
  }

  void event(const ReadEvent& event) override {
    Row& row = rows_.at(event.track);
    switch (event.type) {
      case ReadEvent::Type::Begin: return begin(row, event);
      case ReadEvent::Type::End: return end(row, event);
      case ReadEvent::Type::Counter:
        return file_.line(R"({{"ph":"C","name":{},"pid":{},"ts":{},"args":{{"value":{}}}}})", row.name, row.rank,
                          us(event.time), real_text(event.value));
      case ReadEvent::Type::Instant: return instant(row, event);
    }
  }

  void finish() override {
    write_groups();
    for (const auto& [uuid, row] : rows_)  // what had not ended where its file did
      for (const Open& open : row.open)
        file_.line(R"({{"ph":"B","name":{},"cat":{},"pid":{},"tid":{},"ts":{},"args":{{{}}}}})", open.name,
                   open.category, row.rank, row.number, us(open.begin), open.args);
    file_.finish();
  }

 private:
  struct Group {
    Negotiations rounds = {};
    std::uint32_t agree = 0;  // its row
    bool queue_named = false;
  };
  struct Open {
    std::int64_t begin = 0;
    std::string plain = {}, name = {}, category = {}, args = {};  // the name as it is, the rest as JSON
    std::optional<std::int64_t> arrival = {};
    std::int64_t requests = 1;
  };
  struct Row {
    int rank = 0;
    std::uint32_t number = 0;
    Lane::Kind kind = Lane::Kind::Other;
    std::string name = {};  // in quotes
    Group* group = nullptr;
    std::vector<Open> open = {};
  };

  std::string us(std::int64_t time) const { return fmt::format("{:.3f}", static_cast<double>(time - begin_) / 1e3); }

  std::string args_text(const ReadEvent& event) {
    std::string text;
    const auto add = [&](const std::string& key, const std::string& value) {
      text += (text.empty() ? "" : ",") + key + ":" + value;
    };
    for (const ReadArg& arg : event.args) add(in_quotes(arg.key), value_text(arg));
    for (const std::uint64_t flow : event.flows) add("\"flow\"", std::to_string(flow));
    return text;
  }

  // Names come again and again.
  const std::string& in_quotes(std::string_view text) {
    std::string& known = quotes_[std::string(text)];
    if (known.empty()) known = json_string(text);
    return known;
  }

  Group& group_of(int rank, const std::string& name) { return groups_[{rank, name}]; }

  void name_row(int rank, std::uint32_t number, const std::string& name) {
    file_.line(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", rank, number, name);
    file_.line(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", rank, number,
               number);
  }

  // What a rank tells of itself may have been told before the first event.
  void instant(const Row& row, const ReadEvent& event) {
    const std::int64_t time = row.number == 0 ? std::max(event.time, begin_) : event.time;
    file_.line(R"({{"ph":"i","s":"t","name":{},"pid":{},"tid":{},"ts":{},"args":{{{}}}}})", in_quotes(event.name),
               row.rank, row.number, us(time), args_text(event));
  }

  void begin(Row& row, const ReadEvent& event) {
    Open open{.begin = event.time,
              .plain = std::string(event.name),
              .name = in_quotes(event.name),
              .category = in_quotes(event.category),
              .args = args_text(event),
              .arrival = {},
              .requests = integer(event, "requests", 1)};
    const bool collective = row.kind == Lane::Kind::Move && event.name != trace::span_names::kWaitForPeers;
    if (collective) {
      open.name = in_quotes(horovod_operation(event.name));
      for (const ReadArg& arg : event.args)
        if (const auto* value = std::get_if<double>(&arg.value); value && arg.key == "arrived_us")
          open.arrival = event.time - static_cast<std::int64_t>(std::clamp(*value, 0.0, 1e12) * 1e3);
    }
    row.open.push_back(std::move(open));
  }

  void end(Row& row, const ReadEvent& event) {
    if (row.open.empty()) return;  // its begin was lost, and counted as such
    Open open = std::move(row.open.back());
    row.open.pop_back();
    const std::int64_t ended = std::max(open.begin, event.time);
    if (!event.args.empty()) open.args += (open.args.empty() ? "" : ",") + args_text(event);
    if (row.group && row.group->rounds.size() >= kMostHeld) write(row.rank, *row.group, row.group->rounds.take_half());
    if (row.kind == Lane::Kind::Agree)
      return row.group->rounds.agreed({open.begin, ended, std::move(open.plain), std::move(open.args)});
    if (row.kind == Lane::Kind::Move && open.plain != trace::span_names::kWaitForPeers)
      row.group->rounds.moved({open.plain, open.begin, ended, open.arrival, open.requests});
    span(row.rank, row.number, open.name, open.category, open.begin, ended, open.args);
  }

  void write_groups() {
    for (auto& [key, group] : groups_) write(key.first, group, group.rounds.take_all());
  }

  void write(int rank, Group& group, const Negotiations::Named& named) {
    for (const TimelineSpan& one : named.agree)
      span(rank, group.agree, in_quotes(one.name), "\"comm\"", one.begin, one.end, one.args);
    for (const std::int64_t cycle : cycles_ ? named.cycles : std::vector<std::int64_t>())
      file_.line(R"({{"ph":"i","s":"t","name":"CYCLE_START","pid":{},"tid":{},"ts":{}}})", rank, group.agree,
                 us(cycle));
    if (!named.queue.empty() && !std::exchange(group.queue_named, true))
      name_row(rank, group.agree | kQueueRows, "\"queue\"");
    for (const TimelineSpan& one : named.queue)
      span(rank, group.agree | kQueueRows, "\"QUEUE\"", "\"comm\"", one.begin, one.end, one.args);
  }

  void span(int rank, std::uint32_t row, const std::string& name, const std::string& category, std::int64_t from,
            std::int64_t to, const std::string& args) {
    file_.line(R"({{"ph":"X","name":{},"cat":{},"pid":{},"tid":{},"ts":{},"dur":{:.3f},"args":{{{}}}}})", name,
               category, rank, row, us(from), static_cast<double>(to - from) / 1e3, args);
  }

  JsonFile file_;
  const std::int64_t begin_;
  const bool cycles_;
  std::unordered_map<std::uint64_t, Row> rows_;
  std::map<std::pair<int, std::string>, Group> groups_;
  std::unordered_map<std::string, std::string> quotes_;
};

}  // namespace

std::unique_ptr<Sink> chrome_sink(const std::filesystem::path& file, std::int64_t begin, bool cycles) {
  return std::make_unique<ChromeSink>(file, begin, cycles);
}

}  // namespace ronde::report::exporting
