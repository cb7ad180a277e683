#include "ronde/data/formats/uniform.h"

#include "ronde/base/error.h"

namespace ronde::data::files {

bool is_bytes(const Array& array) {
  return array.type() == Type::U8 && array.shape().size() == 1;
}

void Uniform::check(const Sample& sample, std::string_view key, bool bytes_vary) {
  if (!any_) {
    if (sample.empty()) throw Error::bad_input("sample '{}' is empty", key);
    first_ = sample;
    first_key_ = key;
    any_ = true;
    return;
  }
  for (const auto& [name, array] : sample.arrays()) {
    const Array* before = first_.find(name);
    if (!before)
      throw Error::bad_input(
          "sample '{}' has an array '{}', but '{}' does not; this format needs the same arrays in all samples", key,
          name, first_key_);
    if (bytes_vary && is_bytes(array) && is_bytes(*before)) continue;
    if (array.type() != before->type() || array.shape() != before->shape())
      throw Error::bad_input("'{}' of sample '{}' is {}, but that of '{}' is {}; this format needs one type and shape",
                             name, key, to_text(array.type(), array.shape()), first_key_,
                             to_text(before->type(), before->shape()));
  }
  if (sample.arrays().size() == first_.arrays().size()) return;
  for (const auto& [name, array] : first_.arrays())
    if (!sample.find(name))
      throw Error::bad_input(
          "sample '{}' has no array '{}', but '{}' has; this format needs the same arrays in all samples", key, name,
          first_key_);
}

}  // namespace ronde::data::files
