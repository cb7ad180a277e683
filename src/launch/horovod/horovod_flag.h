#pragma once

#include <string>
#include <string_view>

#include "ronde/launch/horovod/horovodrun.h"

// What a flag of horovodrun means here: one table, for the flags themselves and for the variables that stand for them.
// All pure.
namespace ronde::launch::detail {

enum class HorovodValue { None, Whole, Number, Text };

enum class HorovodAction {
  Word,            // `ours` instead, with the value where there is one
  Fixed,           // `ours` as it stands: flags and their values
  MiB,             // `ours` with the value in mebibytes
  Seconds,         // `ours` with the value in seconds
  SecondsOrNever,  // the same; 0 seconds: never
  Level,           // `ours` with a log level of ours
  Folder,          // `ours` with the value as a folder
  Note,            // nothing, and `ours` says why not
  Refuse,          // `ours` says what there is instead
};

struct HorovodFlag {
  std::string_view name;
  HorovodValue value;
  HorovodAction action;
  std::string_view ours;
};

// How the user wrote it: "--cycle-time-ms 5", "HOROVOD_CYCLE_TIME=5".
struct Written {
  std::string name, value;
  char between = ' ';

  std::string text() const { return name + between + value; }
};

// Nothing for a word that is no flag of horovodrun, or one that we have too.
const HorovodFlag* find_horovod_flag(std::string_view name);

// Adds the words of ours that it stands for, or a note. FAILS WITH: BadInput that says what was written.
void translate(const HorovodFlag& flag, const Written& written, TranslatedCommand& command);

// FAILS WITH: BadInput that says what was written, when its value is none of this kind.
void check_value(HorovodValue kind, const Written& written);

// Adds a note, unless it is there already.
void add_note(TranslatedCommand& command, std::string note);

}  // namespace ronde::launch::detail
