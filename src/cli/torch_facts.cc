#include "ronde/cli/torch_facts.h"

#include <regex>

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

namespace ronde::cli {
namespace {

std::string first_version(const std::string& text) {
  std::smatch match;
  return std::regex_search(text, match, std::regex(R"(\d+\.\d+(\.\d+)?)")) ? match.str() : "";
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
