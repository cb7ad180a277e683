#include "ronde/data/picture/jpeg/jpeg_scan.h"

#include <algorithm>
#include <cstring>

#include <dlfcn.h>

namespace ronde::data::picture {
namespace {

// The beginning of what `jpeg_decompress_struct::entropy` points to.
struct EntropyDecoder {
  void (*start_pass)(j_decompress_ptr);
  boolean (*decode_mcu)(j_decompress_ptr, JBLOCKROW*);
};

const void* library_of(const void* code) {
  Dl_info found{};
  return code && dladdr(code, &found) != 0 ? found.dli_fbase : nullptr;
}

// Whether both functions are the library's: then the structure is what we think it is.
bool as_expected(const jpeg_decompress_struct& info) {
  EntropyDecoder decoder{};
  std::memcpy(&decoder, static_cast<const void*>(info.entropy), sizeof decoder);
  const void* library = library_of(reinterpret_cast<const void*>(&jpeg_start_decompress));
  return library && library_of(reinterpret_cast<const void*>(decoder.start_pass)) == library &&
         library_of(reinterpret_cast<const void*>(decoder.decode_mcu)) == library;
}

HuffmanCode code_of(const JHUFF_TBL& table) {
  HuffmanCode code;
  std::ranges::copy(table.bits, code.counts.begin());
  std::ranges::copy(table.huffval, code.symbols.begin());
  return code;
}

}  // namespace

bool JpegScan::take(jpeg_decompress_struct& info, JpegEscape& escape) {
  if (info.progressive_mode || info.arith_code || info.restart_interval > 0 || jpeg_has_multiple_scans(&info))
    return false;
  static const bool known = as_expected(info);
  if (!known) return false;
  for (int i = 0; i < info.comps_in_scan; ++i) {
    const jpeg_component_info& component = *info.cur_comp_info[i];
    const auto dc = static_cast<std::size_t>(component.dc_tbl_no), ac = static_cast<std::size_t>(component.ac_tbl_no);
    if (dc >= first_.size() || ac >= others_.size() || !info.dc_huff_tbl_ptrs[dc] || !info.ac_huff_tbl_ptrs[ac])
      return false;
    first_[dc].set(code_of(*info.dc_huff_tbl_ptrs[dc]));
    others_[ac].set(code_of(*info.ac_huff_tbl_ptrs[ac]));
  }
  last_.fill(0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(info.blocks_in_MCU); ++i) {
    const auto channel = static_cast<std::size_t>(info.MCU_membership[i]);
    const jpeg_component_info& component = *info.cur_comp_info[channel];
    unit_[i] = {.first = &first_[static_cast<std::size_t>(component.dc_tbl_no)],
                .others = &others_[static_cast<std::size_t>(component.ac_tbl_no)],
                .last = &last_[channel]};
  }
  bits_.set(info.src->next_input_byte, info.src->next_input_byte + info.src->bytes_in_buffer);
  begin_ = column_ = 0;
  end_ = info.MCUs_per_row;
  escape.scan = this;
  const auto function = &decode_unit;
  std::memcpy(reinterpret_cast<char*>(info.entropy) + offsetof(EntropyDecoder, decode_mcu), &function, sizeof function);
  return true;
}

boolean JpegScan::decode_unit(j_decompress_ptr info, JBLOCKROW* blocks) {
  auto& escape = *static_cast<JpegEscape*>(info->client_data);
  JpegScan& scan = *escape.scan;
  const std::span unit(scan.unit_.data(), static_cast<std::size_t>(info->blocks_in_MCU));
  const bool wanted = blocks && scan.column_ >= scan.begin_ && scan.column_ < scan.end_;
  if (++scan.column_ == info->MCUs_per_row) scan.column_ = 0;
  if (wanted)
    for (std::size_t i = 0; i < unit.size(); ++i) scan.unit_[i].into = *blocks[i];
  if (!(wanted ? read_blocks(scan.bits_, unit) : pass_blocks(scan.bits_, unit)))
    escape.leave_with("no such Huffman code");
  if (scan.bits_.overdrawn()) escape.leave_with("premature end of data");
  return TRUE;
}

}  // namespace ronde::data::picture
