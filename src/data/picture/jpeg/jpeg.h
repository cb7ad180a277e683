#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "ronde/data/picture/header.h"
#include "ronde/data/picture/pixels.h"
#include "ronde/data/picture/rows.h"

namespace ronde::data::picture {

// Rows of a part of a JPEG, one after the other; what lies outside is not made into pixels, and what lies below is not
// even read. The same bytes as decoding all of it and cutting the part out.
// Keeps the library's state, to be used for picture after picture. One thread at a time.
class JpegReader final : public RowReader {
 public:
  JpegReader();
  ~JpegReader() override;

  struct Part {
    Window window = {};  // of the picture as it is after `shrink`
    int shrink = 1;      // 1, 2, 4 or 8: decoded to so much less, rounded up
    int channels = 3;    // 1 or 3
    bool plain = false;  // the library does all of it, also what we do faster
  };
  // Begins with a picture. `bytes` must stay until the last row has come. FAILS WITH: BadInput.
  void start(std::string_view bytes, const Header& header, const Part& part);

  int row_pixels() const override;
  int first() const override;
  int read(std::uint8_t* into, std::size_t stride, int most) override;
  void finish() override;
  std::size_t used() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ronde::data::picture
