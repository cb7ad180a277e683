#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ronde/base/error.h"
#include "ronde/data/records.h"

namespace ronde::data::files {

// Samples that a test knows: bytes of growing length, a class, and two numbers. Some can be made unreadable.
class MemoryRecords : public Records {
 public:
  explicit MemoryRecords(std::int64_t samples) : samples_(samples) {}

  std::string name() const override { return "memory"; }
  std::int64_t size() const override { return samples_; }
  std::size_t bytes(std::int64_t index) const override { return 1000 + static_cast<std::size_t>(index); }
  std::string where(std::int64_t index) const override { return "memory/" + std::to_string(index); }
  std::string key(std::int64_t index) const override { return "m" + std::to_string(index); }
  std::vector<std::string> classes() const override { return {"even", "odd"}; }

  Sample read(std::int64_t index) const override {
    if (bad.contains(index)) throw Error::bad_input("it is bad");
    Sample sample;
    sample.set("blob",
               Array::bytes_of(std::string(static_cast<std::size_t>(200 + index * 7 % 300), static_cast<char>(index))));
    sample.set("class", Array::scalar<std::int64_t>(index % 2));
    Array pair(Type::F32, {2});
    pair.values<float>()[0] = static_cast<float>(index);
    pair.values<float>()[1] = 0.5f;
    sample.set("pair", pair);
    return sample;
  }

  std::set<std::int64_t> bad = {};

 private:
  std::int64_t samples_;
};

// All that a sample holds besides its key, whatever the order.
inline std::map<std::string, std::pair<std::string, std::string>> contents(const Sample& sample) {
  std::map<std::string, std::pair<std::string, std::string>> all;
  for (const auto& [name, array] : sample.arrays())
    if (name != "key") all[name] = {to_text(array.type(), array.shape()), std::string(array.text())};
  return all;
}

}  // namespace ronde::data::files
