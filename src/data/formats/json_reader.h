#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "ronde/base/error.h"

namespace ronde::data::files {

// FAILS WITH: BadInput that names the file.
inline nlohmann::ordered_json parse_json(std::string_view text, const std::string& name) {
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::ordered_json::parse_error& error) {
    throw Error::bad_input("{}: byte {}: not valid JSON", name, error.byte);
  } catch (const nlohmann::ordered_json::exception&) {  // a number that no double holds
    throw Error::bad_input("{}: a number in the JSON is out of range", name);
  }
}

// Values of a JSON object, whose errors name the file.
class JsonReader {
 public:
  static constexpr std::int64_t kMost = std::int64_t{1} << 53;  // what JSON can count exactly

  JsonReader(const nlohmann::ordered_json& object, const std::string& name) : object_(object), name_(name) {}

  std::string text(const char* key) const {
    const nlohmann::ordered_json& value = at(key);
    if (!value.is_string()) throw wrong(key, "is not a string");
    return value.get<std::string>();
  }
  std::int64_t count(const char* key) const {
    const nlohmann::ordered_json& value = at(key);
    if (!value.is_number_integer() || value.get<double>() < 0 || value.get<double>() > static_cast<double>(kMost))
      throw wrong(key, "is not a count");
    return value.get<std::int64_t>();
  }
  const nlohmann::ordered_json& list(const char* key) const {
    const nlohmann::ordered_json& value = at(key);
    if (!value.is_array()) throw wrong(key, "is not a list");
    return value;
  }
  Error wrong(const char* key, std::string_view how) const {
    return Error::bad_input("{}: \"{}\" {}", name_, key, how);
  }

 private:
  const nlohmann::ordered_json& at(const char* key) const {
    if (!object_.is_object() || !object_.contains(key)) throw wrong(key, "is missing");
    return object_[key];
  }

  const nlohmann::ordered_json& object_;
  const std::string& name_;
};

}  // namespace ronde::data::files
