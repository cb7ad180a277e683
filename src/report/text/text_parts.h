#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ronde/base/text/terminal.h"

// What a text is made of: values of a document that may lack any of them, and how they read. Pure.
namespace ronde::report::detail {

using Json = nlohmann::ordered_json;

inline constexpr std::size_t kColumns = 88;

// The value of a key; null where there is none, or `in` is no object.
const Json& at(const Json& in, std::string_view key);
// Empty where there is no such text. Numbers are texts too.
std::string text_at(const Json& in, std::string_view key);
std::optional<double> number_at(const Json& in, std::string_view key);
double number_or_zero(const Json& in, std::string_view key);
bool true_at(const Json& in, std::string_view key);
// The objects of a list; none where it is no list.
std::vector<Json> objects_at(const Json& in, std::string_view key);

inline constexpr const char* kUnknown = "-";

// "83.9 %", "2.1 ms", "2560 samples/s", "1.72 GB/s"; kUnknown for what is not known.
std::string percent(std::optional<double> share, int decimals = 0);
std::string duration(std::optional<double> seconds);
std::string speed(std::optional<double> samples_per_second);
std::string bandwidth(std::optional<double> gb_s);
std::string whole(std::optional<double> number);

// A share of 1 as a bar of blocks, `width` columns wide.
std::string bar(double share, std::size_t width);

// Lines of at most kColumns, the first after `first`, the others after as many blanks. Words are never cut.
std::string wrapped(std::string_view text, std::string_view first = "");

// The head of a part.
std::string title(const Paint& paint, std::string_view text);
// The text of a key, wrapped; empty where there is none.
std::string sentence(const Json& in, std::string_view key, std::string_view first = "  ");

// Input, collectives, layers, bottlenecks, scaling, phases, call paths: those that the document has.
std::string causes_text(const Json& document, const Paint& paint);

// A text cut to so many columns, with "…" where something is missing.
std::string shortened(const std::string& text, std::size_t columns);

}  // namespace ronde::report::detail
