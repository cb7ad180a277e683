#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "parts.h"
#include "ronde/base/error.h"
#include "ronde/base/settings/environment.h"
#include "ronde/base/system/rates_file.h"
#include "ronde/base/text/json_text.h"
#include "ronde/report/analysis.h"
#include "ronde/report/json/report_json.h"
#include "ronde/report/page/page.h"
#include "ronde/report/report.h"
#include "ronde/report/text/text.h"

namespace ronde::python {
namespace {

using Path = std::filesystem::path;

std::string content_of(const Path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error::bad_input("cannot open '{}'", file.string());
  return (std::ostringstream() << in.rdbuf()).str();
}

// As `ronde report` has it: what the user names goes before what was measured on this machine.
std::shared_ptr<report::Report> analyse(const std::vector<Path>& sources, const std::string& steps,
                                        const Path& roofline, const Path& allreduce, bool timeline) {
  const py::gil_scoped_release unlocked;
  if (sources.empty()) throw Error::bad_input("missing trace: give the folder that was set as trace.dir");
  report::AnalysisOptions options{.steps = parse_step_window(steps), .timeline = timeline};
  if (!allreduce.empty()) {
    options.allreduce_json = content_of(allreduce);
    options.allreduce_file = allreduce.string();
  }
  if (!roofline.empty()) {
    options.rates = read_rates(roofline);
  } else {
    const Path measured = default_roofline(Environment::of_process());
    if (!measured.empty() && std::filesystem::exists(measured)) options.measured_here = read_rates(measured);
  }
  return report::analyse(sources, options);
}

// Folders and spans may be called anything: what is no UTF-8 becomes a replacement character.
py::str text_of(const std::string& bytes) {
  const auto size = static_cast<py::ssize_t>(bytes.size());
  return py::reinterpret_steal<py::str>(PyUnicode_DecodeUTF8(bytes.data(), size, "replace"));
}

}  // namespace

void add_report(py::module_& module) {
  using report::Report;
  py::module_ part = module.def_submodule("report", "What ronde.report uses.");
  py::class_<Report, std::shared_ptr<Report>>(part, "Analysis")
      .def("json", [](const Report& report) { return json_text(report::to_json(report)); })
      .def("text", [](const Report& report) { return text_of(report::text_report(report, false)); })
      .def("guide", [](const Report& report) { return text_of(report::guide_text(report, false)); })
      .def("html", [](const Report& report) { return report::html_page(report); });
  part.def("analyse", &analyse);
}

}  // namespace ronde::python
