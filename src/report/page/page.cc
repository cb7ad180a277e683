#include "ronde/report/page/page.h"

#include <span>
#include <string_view>

#include "ronde/report/json/report_json.h"
#include "ronde/report/page/page_text.h"

namespace ronde::report {

namespace {

using Json = nlohmann::ordered_json;

// Text that stands between tags.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char letter : text) switch (letter) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      default: out += letter;
    }
  return out;
}

// What a tab or a bookmark is called.
std::string title_of(const Json& document) {
  const auto source = document.is_object() ? document.find("source") : document.end();
  if (source == document.end() || !source->is_string() || *source == "") return "Ronde report";
  // Through dump(), which mends what is no UTF-8; its quotes go again.
  const std::string quoted = Json(*source).dump(-1, ' ', false, Json::error_handler_t::replace);
  return "Ronde report: " + escaped(std::string_view(quoted).substr(1, quoted.size() - 2));
}

std::string joined(std::span<const std::string_view> files) {
  std::string out;
  for (const std::string_view file : files) out += file;
  return out;
}

}  // namespace

std::string json_for_script(const Json& document) {
  const std::string json = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  out.reserve(json.size() + json.size() / 16);
  // These occur only inside strings, where the escape means the same letter.
  for (const char letter : json) switch (letter) {
      case '<': out += "\\u003c"; break;
      case '>': out += "\\u003e"; break;
      case '&': out += "\\u0026"; break;
      default: out += letter;
    }
  return out;
}

std::string html_page(const Report& report) {
  return page_of_json(to_json(report));
}

std::string page_of_json(const Json& document) {
  // The template names what goes where. Pieces are put in one after the other and never searched again: a document may
  // hold any text.
  std::string out;
  std::string_view rest = page::kTemplate;
  const auto put = [&](std::string_view mark, std::string_view text) {
    const std::size_t at = rest.find(mark);  // page_test.cc: all are there, in this order
    out += rest.substr(0, at);
    out += text;
    rest.remove_prefix(at + mark.size());
  };
  put("@title@", title_of(document));
  put("@style@", joined(page::kStyles));
  put("@document@", json_for_script(document));
  put("@script@", joined(page::kScripts));
  out += rest;
  return out;
}

}  // namespace ronde::report
