#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ronde/comm/agree/description.h"
#include "ronde/comm/agree/names.h"
#include "ronde/comm/execute/fusion.h"

namespace ronde::comm::detail {

// What members agree on as a whole: one request, or several that were submitted together. This is the part of a
// request that deciding needs; the engine knows the rest. Requests of one unit hang together by `next`, and all but
// `description` and `next` matter on the first only.
struct Unit {
  Description description = {};
  Unit* next = nullptr;

  NameSlot* key = nullptr;      // none: without a name
  std::uint64_t sequence = 0;   // among those without a name
  std::uint64_t signature = 0;  // of all its descriptions
  FusionItem fusion = {};
  std::uint64_t arrival = 0;
  bool fence = false;       // the program has waited for something between the request before and this one
  bool waited_for = false;  // the program waits for it, or polls
  bool agreed = false;      // on its way to the link, or failed
};

// A unit that is to run. On a member that has joined it is another's: only its descriptions are known.
struct BucketItem {
  Unit* unit = nullptr;
  std::vector<Description> descriptions = {};
};
using Bucket = std::vector<BucketItem>;

// How requests travel that run together: only reductions to everyone are fused.
FusionItem fusion_of(std::span<const Description> descriptions);
FusionItem fusion_of(const BucketItem& item);
std::vector<Description> content_of(const Unit& unit);
// Fills in what follows from the descriptions of all its requests.
void complete(Unit& first);

// "'w'", "'w' and 2 more", "request 17 without a name"
std::string title(const Unit& unit);

}  // namespace ronde::comm::detail
