#include "ronde/report/export/sink.h"
#include "ronde/trace/file/trace_writer.h"

namespace ronde::report::exporting {
namespace {

class PerfettoSink final : public Sink {
 public:
  explicit PerfettoSink(const std::filesystem::path& file) : writer_(file) {}

  void track(const trace::ReadTrack& track) override { writer_.track(track); }
  void event(const trace::ReadEvent& event) override { writer_.event(event); }
  void clocks(const trace::ReadClocks& clocks) override { writer_.clocks(clocks); }
  void finish() override { writer_.finish(); }

 private:
  trace::TraceWriter writer_;
};

}  // namespace

std::unique_ptr<Sink> perfetto_sink(const std::filesystem::path& file) {
  return std::make_unique<PerfettoSink>(file);
}

}  // namespace ronde::report::exporting
