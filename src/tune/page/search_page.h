#pragma once

#include <string>

#include "ronde/tune/search.h"

namespace ronde::tune {

// What the page of a search shows, as data: its trials, their curves and parameters, and what mattered. Pure.
Json page_data(const Search& search, const std::string& name);

// One file for a browser, which needs nothing else.
std::string search_page(const Search& search, const std::string& name);

// "lr tells most about which trials are among the best (71 %), then width (20 %)"; empty where too little is known.
std::string what_mattered(const Json& data);

}  // namespace ronde::tune
