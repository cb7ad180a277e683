#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>
#include <nlohmann/json.hpp>

#include "parts.h"
#include "ronde/base/error.h"
#include "ronde/base/settings/environment.h"
#include "ronde/base/system/rates_file.h"
#include "ronde/base/text/json_text.h"
#include "ronde/report/document.h"
#include "ronde/report/page/page.h"
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
std::string document(const std::vector<Path>& sources, const std::string& steps, const Path& roofline,
                     const Path& allreduce, bool timeline) {
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
  return json_text(report::document_of(sources, options));
}

// Of the text that document() gave.
template <class Function>
auto of_text(const Function& function) {
  return [function](const std::string& text) { return function(nlohmann::ordered_json::parse(text)); };
}

}  // namespace

void add_report(py::module_& module) {
  using nlohmann::ordered_json;
  py::module_ part = module.def_submodule("report", "What ronde.report uses.");
  part.def("document", &document);
  part.def("text", of_text([](const ordered_json& json) { return report::text_report(json, false); }));
  part.def("guide", of_text([](const ordered_json& json) { return report::guide_text(json, false); }));
  part.def("html", of_text([](const ordered_json& json) { return report::html_page(json); }));
}

}  // namespace ronde::python
