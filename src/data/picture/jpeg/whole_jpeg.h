#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace ronde::data::picture {

// What libjpeg-turbo does by itself and by its defaults: all rows of a JPEG, as red, green and blue. For comparison.
// Keeps the library's state from picture to picture. One thread at a time.
class WholeJpeg {
 public:
  WholeJpeg();
  ~WholeJpeg();
  WholeJpeg(const WholeJpeg&) = delete;
  WholeJpeg& operator=(const WholeJpeg&) = delete;

  // `into` grows as needed. FAILS WITH: BadInput.
  void decode(std::string_view bytes, std::vector<std::uint8_t>& into);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ronde::data::picture
