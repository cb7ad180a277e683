#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ronde::data::files {

// Takes one row off the text of a CSV file: fields parted by `separator`, in quotes where they hold one, or a line end,
// or quotes (which are then written twice). Lines end with \n or \r\n. `fields` are what they mean, without quotes.
// Returns how many lines the row took. `name` and `line` (from 1) are for errors.
// REQUIRES: text is not empty. FAILS WITH: BadInput: quotes that do not end, or do so in the middle of a field.
std::size_t take_csv_row(std::string_view& text, char separator, std::vector<std::string>& fields,
                         const std::string& name, std::size_t line);

// What parts the fields of a first line: of comma, semicolon and tab the one that occurs most outside of quotes.
char guess_separator(std::string_view text);

// A field as it is written, in quotes where it must be.
std::string csv_field(std::string_view text);

}  // namespace ronde::data::files
