#include "ronde/comm/execute/unit.h"

#include <bit>

#include "ronde/base/text/format.h"

namespace ronde::comm::detail {
namespace {

// What must be the same for requests to be reduced in one go; 0: this one goes alone.
std::uint64_t kind_of(const Description& description) {
  if (description.operation != Operation::Allreduce) return 0;
  const auto type =
      static_cast<std::uint64_t>(description.on_gpu) << 24 | static_cast<std::uint64_t>(description.dtype) << 16 |
      static_cast<std::uint64_t>(description.op) << 8 | static_cast<std::uint64_t>(description.compression);
  const std::uint64_t scales = combined_signature(std::bit_cast<std::uint64_t>(description.prescale),
                                                  std::bit_cast<std::uint64_t>(description.postscale));
  return combined_signature(type, scales);
}

void add(FusionItem& item, const Description& description, bool first) {
  const std::uint64_t kind = kind_of(description);
  item.kind = first || item.kind == kind ? kind : 0;
  item.bytes += description.shape.elements() * size_of(description.dtype);
}

}  // namespace

FusionItem fusion_of(std::span<const Description> descriptions) {
  FusionItem item;
  for (std::size_t i = 0; i < descriptions.size(); ++i) add(item, descriptions[i], i == 0);
  return item;
}

FusionItem fusion_of(const BucketItem& item) {
  return item.unit ? item.unit->fusion : fusion_of(item.descriptions);
}

std::vector<Description> content_of(const Unit& unit) {
  std::vector<Description> content;
  for (const Unit* part = &unit; part; part = part->next) content.push_back(part->description);
  return content;
}

void complete(Unit& first) {
  first.signature = signature(first.description);
  first.fusion = {};
  add(first.fusion, first.description, true);
  for (const Unit* part = first.next; part; part = part->next) {
    first.signature = combined_signature(first.signature, signature(part->description));
    add(first.fusion, part->description, false);
  }
}

std::string title(const Unit& unit) {
  if (unit.key) return fmt::format("'{}'", unit.key->name);
  return fmt::format("request {} without a name", unit.sequence);
}

}  // namespace ronde::comm::detail
