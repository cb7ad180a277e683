#include "ronde/comm/types.h"

#include <array>

namespace ronde::comm {
namespace {

struct DTypeFacts {
  std::string_view name;
  std::size_t bytes;
};
constexpr auto kDTypeFacts = std::to_array<DTypeFacts>({{"u8", 1},
                                                        {"i8", 1},
                                                        {"u16", 2},
                                                        {"i16", 2},
                                                        {"i32", 4},
                                                        {"i64", 8},
                                                        {"f16", 2},
                                                        {"bf16", 2},
                                                        {"f32", 4},
                                                        {"f64", 8},
                                                        {"bool", 1}});
static_assert(kDTypeFacts.size() == kDTypes);

constexpr auto kOpNames = std::to_array<std::string_view>({"sum", "average", "min", "max", "product", "adasum"});

}  // namespace

std::size_t size_of(DType dtype) {
  return kDTypeFacts[static_cast<std::size_t>(dtype)].bytes;
}

std::string_view name(DType dtype) {
  return kDTypeFacts[static_cast<std::size_t>(dtype)].name;
}

std::string_view name(ReduceOp op) {
  return kOpNames[static_cast<std::size_t>(op)];
}

}  // namespace ronde::comm
