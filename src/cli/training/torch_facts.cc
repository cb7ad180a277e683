#include "ronde/cli/training/torch_facts.h"

#include <algorithm>
#include <string_view>

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

namespace ronde::cli {
namespace {

// The first thing like 3.12.0 in a sentence; empty when there is none.
std::string first_version(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  for (auto at = text.find_first_of(kDigits); at != text.npos; at = text.find_first_of(kDigits, at)) {
    const auto end = std::min(text.find_first_not_of("0123456789.", at), text.size());
    if (text.substr(at, end - at).find('.') != text.npos) return std::string(text.substr(at, end - at));
    at = end;
  }
  return "";
}

}  // namespace

std::optional<TorchFacts> torch_facts() {
  return TorchFacts{.version = TORCH_VERSION,
                    .cpu_capability = at::get_cpu_capability(),
                    .onednn = first_version(at::get_mkldnn_version()),
                    .mkl = first_version(at::get_mkl_version()),
                    .threads = at::get_num_threads()};
}

}  // namespace ronde::cli
