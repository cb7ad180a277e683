#pragma once

#include <memory>
#include <string_view>

#include "ronde/data/picture/header.h"
#include "ronde/data/picture/pixels.h"
#include "ronde/data/picture/rows.h"

namespace ronde::data::picture {

// Rows of a part of a PNG: of 8 or 16 bits (of which the upper 8 remain), palette or grey; what is transparent is
// ignored. An interlaced one is taken in as a whole. One thread at a time.
class PngReader final : public RowReader {
 public:
  PngReader();
  ~PngReader() override;

  // Begins with a picture; `bytes` must stay until the last row has come. FAILS WITH: BadInput.
  void start(std::string_view bytes, const Header& header, const Window& window, int channels);

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
