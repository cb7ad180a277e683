#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ronde/data/records.h"
#include "ronde/data/sample.h"

namespace ronde::data::files {

// More classes than any file has: what is above is no class, but something else that was taken for one.
constexpr std::int64_t kMostClasses = 1'000'000;

// Which arrays of a file are the picture and the class.
struct Naming {
  std::string image = {}, label = {};     // as RecordsOptions has them; empty: the usual names
  std::vector<std::string> classes = {};  // their names, where they are known
};

// Calls picture and class what all formats call them: "image/encoded", "image_raw" or "image" becomes "image";
// "class", "image/class/label" or "label" becomes "class" (i64) if it is one number or the name of a class, and
// "labels" (f32) if there are several. `where` is what errors call the sample.
// FAILS WITH: BadInput: no array of the name that was asked for, a class that is negative or beyond all classes.
void use_our_names(Sample& sample, const Naming& naming, const std::string& where);

// What an array is called whose file or dataset has this name, for formats that keep an array in each: the usual names
// of inputs (x, images, image, data, features) become "image", if it can be one (`picture`), else "features"; those of
// targets (y, labels, label, class) become "label", for use_our_names(). `alone`: there is no other array.
std::string array_name(const std::string& name, bool picture, bool alone, const Naming& naming);

// FAILS WITH: BadInput.
void check_class(std::int64_t value, std::size_t classes, const std::string& where);

// Where the names of classes are kept for formats that have no place for them: classes.txt in a folder, or
// FILE.classes.txt beside a file; a name a line.
std::filesystem::path classes_file(const std::filesystem::path& data);
// Empty where there is no such file. FAILS WITH: BadInput for an empty or repeated name, System.
std::vector<std::string> read_classes(const std::filesystem::path& data);
// Does nothing for no names.
void write_classes(const std::filesystem::path& data, const std::vector<std::string>& names);

}  // namespace ronde::data::files
