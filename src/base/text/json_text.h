#pragma once

#include <string>

namespace ronde {

// A JSON value as text for a file or a pipe, indented. Bytes that are no UTF-8 (a folder may be called anything) become
// a replacement character instead of an exception. `Json` is one of nlohmann's types.
template <class Json>
std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ronde
