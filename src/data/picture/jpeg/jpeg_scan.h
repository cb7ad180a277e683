#pragma once

#include <array>

#include "ronde/data/picture/jpeg/huffman.h"
#include "ronde/data/picture/jpeg/jpeg_library.h"

namespace ronde::data::picture {

// Reads the coefficients of baseline pictures in the library's place, about 1.3 times as fast: of what decoding takes,
// that is half. All else stays with the library. It puts its own function where the library keeps the one that decodes
// a unit: a place that has been the same in all versions since libjpeg 6b, but that no header promises. So it is only
// taken where what lies there is code of the library.
class JpegScan {
 public:
  // After jpeg_start_decompress(), before the first row. Whether it takes this picture: of one scan, baseline, without
  // restarts. `escape` is what the structure was attached to.
  bool take(jpeg_decompress_struct& info, JpegEscape& escape);

  // Only units of these columns will be looked at: all others are passed. REQUIRES: take() took it; before the first
  // row.
  void want_columns(JDIMENSION begin, JDIMENSION end) {
    begin_ = begin;
    end_ = end;
  }

  // As ScanBits has them. REQUIRES: take() took it.
  const std::uint8_t* at() const { return bits_.at(); }
  const std::uint8_t* behind() const { return bits_.behind(); }

 private:
  static boolean decode_unit(j_decompress_ptr info, JBLOCKROW* blocks);

  ScanBits bits_;
  JDIMENSION begin_ = 0, end_ = 0, column_ = 0;  // of units; the next one's
  std::array<FirstTable, NUM_HUFF_TBLS> first_;
  std::array<CoefficientTable, NUM_HUFF_TBLS> others_;
  std::array<int, MAX_COMPS_IN_SCAN> last_{};
  std::array<Block, D_MAX_BLOCKS_IN_MCU> unit_{};
};

}  // namespace ronde::data::picture
