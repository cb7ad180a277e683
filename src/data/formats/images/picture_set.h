#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ronde/data/records.h"
#include "ronde/data/samples/pictures.h"

namespace ronde::data::files {

// Samples of a set of plain pictures: "image" is u8[h,w,c], "class" the label. One channel is a view of the file;
// several, which lie one after the other there, are put together.
// FAILS WITH: BadInput, when a label is not one of `classes` (none: not known).
std::unique_ptr<Records> make_picture_records(std::string name, detail::PictureSet set,
                                              std::vector<std::string> classes);

}  // namespace ronde::data::files
