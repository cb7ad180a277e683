#pragma once

#include <nlohmann/json.hpp>

namespace ronde::report {

struct Report;

// What `ronde report --json` prints and the page reads; docs/report.md lists its keys. Nothing else of ours reads it.
nlohmann::ordered_json to_json(const Report& report);

}  // namespace ronde::report
