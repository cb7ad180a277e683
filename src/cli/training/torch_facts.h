#pragma once

#include <optional>
#include <string>

namespace ronde::cli {

// The libtorch that this program was built with, and what it says about itself on this machine.
struct TorchFacts {
  std::string version;
  std::string cpu_capability;  // the instruction set its own kernels use: "AVX512"; oneDNN and MKL do not tell theirs
  std::string onednn;          // version, or empty
  std::string mkl;             // version, or empty
  int threads = 0;             // that one operation may use
};

std::optional<TorchFacts> torch_facts();  // nothing in a build without libtorch

}  // namespace ronde::cli
