#include "ronde/data/sample.h"

#include <algorithm>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::data {

void Sample::set(std::string_view name, Array array) {
  const auto found = std::ranges::find(arrays_, name, &Named::name);
  if (found == arrays_.end())
    arrays_.push_back({std::string(name), std::move(array)});
  else
    found->array = std::move(array);
}

const Array* Sample::find(std::string_view name) const {
  const auto found = std::ranges::find(arrays_, name, &Named::name);
  return found == arrays_.end() ? nullptr : &found->array;
}

const Array& Sample::at(std::string_view name) const {
  if (const Array* found = find(name)) return *found;
  std::vector<std::string> names;
  for (const Named& one : arrays_) names.push_back(one.name);
  throw Error::bad_input("the sample has no '{}'; it has {}", name, names.empty() ? "nothing" : join(names, ", "));
}

bool Sample::erase(std::string_view name) {
  return std::erase_if(arrays_, [&](const Named& one) { return one.name == name; }) > 0;
}

std::size_t Sample::bytes() const {
  std::size_t sum = 0;
  for (const Named& one : arrays_) sum += one.array.bytes();
  return sum;
}

}  // namespace ronde::data
