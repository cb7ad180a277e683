#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ronde/base/error.h"
#include "ronde/data/records.h"
#include "ronde/data/tools/record_writer.h"

// What programs that make files of many samples remember, to go on after they were killed.
namespace ronde::data::files {

// What a source is, in words that compare equal for the same one. The sizes stand for the samples themselves.
std::string describe_source(const Records& records);

// The error of one sample: says where it lies, if it does not already.
Error of_sample(const Records& records, std::int64_t index, const Error& error);

// Of a conversion that is not finished.
struct Notes {
  std::string made = {};  // from what and how, in words that compare equal for the same
  RecordWriter::Saved saved = {};
  std::uint64_t bytes = 0;  // of the arrays of the samples that were saved
  friend bool operator==(const Notes&, const Notes&) = default;
};
std::string to_json(const Notes& notes);
// FAILS WITH: BadInput that names the file: no JSON, something that is missing or cannot be.
Notes parse_notes(std::string_view text, const std::string& name);

}  // namespace ronde::data::files
