#include "ronde/comm/gpu/gpu_place.h"

#include <algorithm>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::comm::detail {
namespace {

constexpr std::string_view kNoBusId = "-";

}  // namespace

std::string GpuPlace::to_text() const {
  std::string text = fmt::format("{} {} {} {}", rank, device, bus_id.empty() ? kNoBusId : bus_id, host);
  text.resize(std::min(text.size(), kMostBytes));
  return text;
}

GpuPlace GpuPlace::from_text(std::string_view text) {
  const auto words = split(text, ' ');
  if (words.size() >= 4) {
    const auto rank = parse_number<int>(words[0]);
    const auto device = parse_number<int>(words[1]);
    if (rank && device && !words[2].empty()) {
      const std::string_view host = text.substr(words[0].size() + words[1].size() + words[2].size() + 3);
      const std::string_view bus_id = words[2] == kNoBusId ? "" : words[2];
      return {.host = std::string(host), .device = *device, .bus_id = std::string(bus_id), .rank = *rank};
    }
  }
  throw Error(Error::Kind::Mismatch,
              "a member sent an invalid location of its GPU; check that all ranks run the same version of Ronde");
}

std::string GpuPlace::to_words() const {
  return fmt::format("rank {} (host {}, GPU {}{}{})", rank, host, device, bus_id.empty() ? "" : " ", bus_id);
}

GpuWord gpu_word(std::string_view text) {
  GpuWord word{};
  std::ranges::copy(text.substr(0, word.size() - 1), word.begin());
  return word;
}

std::string_view text_of(const GpuWord& word) {
  return {word.data(), static_cast<std::size_t>(std::ranges::find(word, '\0') - word.begin())};
}

}  // namespace ronde::comm::detail
