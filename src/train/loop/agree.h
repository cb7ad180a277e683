#pragma once

#include <string>
#include <vector>

#include "ronde/comm/group.h"

namespace ronde {
class Settings;
}

namespace ronde::train {

// Which settings differ between ranks, given the texts of all settings of each rank; one sentence, or empty. Pure.
std::string differing_settings(const std::vector<std::vector<std::string>>& by_rank);

// All ranks must train by the same recipe. FAILS WITH: BadInput, on every rank, saying which keys differ and where.
void require_same_settings(const Settings& settings, const comm::Group& group);

// Whether it is so on any rank. All call it, under the same name. FAILS WITH: as comm::Handle::wait().
bool on_any_rank(bool mine, const std::string& name, const comm::Group& group);
// What some rank has against something: this one's own words, or those of the first that has any, behind its number;
// empty: nobody has. As on_any_rank() otherwise.
std::string objection(const std::string& mine, const std::string& name, const comm::Group& group);

}  // namespace ronde::train
