#pragma once

#include <nlohmann/json.hpp>

namespace ronde::report {

// A rate or an amount of which 0 says that it is not known: null in the document.
inline nlohmann::ordered_json known_or_null(double value) {
  return value > 0 ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

}  // namespace ronde::report
