#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ronde/base/text/terminal.h"
#include "ronde/report/report.h"

// What a text is made of, and how values read. Pure.
namespace ronde::report::detail {

inline constexpr std::size_t kColumns = 88;

inline constexpr const char* kUnknown = "-";

// "83.9 %", "2.1 ms", "2560 samples/s", "1.72 GB/s"; kUnknown for what is not known or not finite.
std::string percent(std::optional<double> share, int decimals = 0);
std::string duration(std::optional<double> seconds);
std::string speed(std::optional<double> samples_per_second);
std::string bandwidth(std::optional<double> gb_s);
std::string whole(std::optional<double> number);
// Of a rate that is 0 where it is not known.
std::optional<double> known(double rate);

// A share of 1 as a bar of blocks, `width` columns wide.
std::string bar(double share, std::size_t width);

// Lines of at most kColumns, the first after `first`, the others after as many blanks. Words are never cut.
std::string wrapped(std::string_view text, std::string_view first = "");

// The head of a part.
std::string title(const Paint& paint, std::string_view text);
// The text, wrapped; empty where it is.
std::string sentence(std::string_view text, std::string_view first = "  ");

// Input, collectives, layers, bottlenecks, scaling, phases, call paths: those that the report has.
std::string causes_text(const Report& report, const Paint& paint);

// A text cut to so many columns, with "…" where something is missing.
std::string shortened(const std::string& text, std::size_t columns);

}  // namespace ronde::report::detail
