#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "ronde/data/io/file_bytes.h"
#include "ronde/data/samples/pictures.h"
#include "ronde/data/source.h"

namespace ronde::data::detail {

// The training pictures of CIFAR-10, binary version.
inline constexpr std::array kCifar10Training = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                                "data_batch_4.bin", "data_batch_5.bin"};

// Adds the records of one binary file: `label_bytes` of labels, of which the last counts (CIFAR-100 has a coarse one
// before it), and three planes of 32 x 32 bytes. REQUIRES: set.kind is that of such pictures.
// FAILS WITH: BadInput: a file that ends inside a record, a label that is not below set.kind.classes.
void add_cifar_records(PictureSet& set, FileBytes file, std::size_t label_bytes = 1);

// CIFAR-10's binary version: records of a label byte and three planes of 32 x 32 bytes.
std::unique_ptr<Source> open_cifar10(const SourceOptions& options);

}  // namespace ronde::data::detail
