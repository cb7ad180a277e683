#include "ronde/models/torchscript.h"

#include <filesystem>
#include <utility>

#include <torch/script.h>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::models {
namespace {

constexpr std::string_view kPrefix = "torchscript:";

// The first line of what torch says: the rest is a stack of C++ functions.
std::string first_line(const char* what) {
  return std::string(split(what, '\n').front());
}

// A module of TorchScript as one of torch::nn with the same tensors: what either changes in place, the other sees.
class Mirror : public torch::nn::Module {
 public:
  void fill(const torch::jit::Module& from) {
    for (const auto& item : from.named_parameters(/*recurse=*/false)) register_parameter(item.name, item.value);
    for (const auto& item : from.named_buffers(/*recurse=*/false)) register_buffer(item.name, item.value);
    for (const auto& item : from.named_children()) {
      auto child = std::make_shared<Mirror>();
      child->fill(item.value);
      register_module(item.name, child);
    }
  }
};

class TorchScriptNetwork final : public Network {
 public:
  TorchScriptNetwork(std::string file, torch::jit::Module script) : file_(std::move(file)), script_(std::move(script)) {
    for (const auto& item : script_.named_parameters(/*recurse=*/false)) register_parameter(item.name, item.value);
    for (const auto& item : script_.named_buffers(/*recurse=*/false)) register_buffer(item.name, item.value);
    for (const auto& item : script_.named_children()) {
      auto child = std::make_shared<Mirror>();
      child->fill(item.value);
      register_module(item.name, child);
    }
  }

  torch::Tensor forward(torch::Tensor input) override {
    const torch::jit::GraphOptimizerEnabledGuard plain(false);
    const c10::IValue output = script_.forward({std::move(input)});
    if (!output.isTensor())
      throw Error::bad_input("{}: its forward must return one tensor, but returns {}", file_, output.tagKind());
    return output.toTensor();
  }

  void train(bool on) override {
    Network::train(on);
    script_.train(on);
  }

 private:
  const std::string file_;
  torch::jit::Module script_;
};

std::shared_ptr<Network> load(const std::string& file) {
  if (std::error_code failure; !std::filesystem::is_regular_file(file, failure))
    throw Error::bad_input("model.name = torchscript:{0}: {0} does not exist", file);
  try {
    return std::make_shared<TorchScriptNetwork>(file, torch::jit::load(file, torch::kCPU));
  } catch (const c10::Error& error) {
    throw Error::bad_input("{} is not a TorchScript module (as torch.jit.script(net).save() writes): {}", file,
                           first_line(error.what_without_backtrace()));
  }
}

}  // namespace

bool is_torchscript(std::string_view name) {
  return name.starts_with(kPrefix);
}

ModelEntry torchscript_entry(std::string_view name) {
  return {.names = {std::string(name)},
          .help = "A TorchScript module.",
          .make = [file = std::string(name.substr(kPrefix.size()))](const ModelOptions&) { return load(file); }};
}

}  // namespace ronde::models
