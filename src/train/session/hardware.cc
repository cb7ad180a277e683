#include "ronde/train/session/hardware.h"

#include <cstdlib>

#include "ronde/device/device.h"

namespace ronde::train {

HardwareFacts hardware_of(const Session& session) {
  HardwareFacts facts{.cpu = read_cpu_facts()};
  if (const torch::Device device = session.device(); device.is_cuda()) {
    const device::Info gpu = device::list().at(static_cast<std::size_t>(device.index()));
    facts.gpu = {.name = gpu.name, .major = gpu.major, .minor = gpu.minor, .tf32 = session.options().tf32};
  }
  return facts;
}

void apply_device_settings(const TrainingOptions& options) {
  const bool deterministic = options.deterministic;
  auto& context = at::globalContext();
  context.setAllowTF32CuBLAS(options.tf32);
  context.setAllowTF32CuDNN(options.tf32);
  context.setBenchmarkCuDNN(options.cudnn_autotune && !deterministic);
  context.setDeterministicCuDNN(deterministic);
  if (!deterministic) return;
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);  // torch insists, on a GPU
  context.setDeterministicAlgorithms(true, false);
}

void announce_arithmetic(const Session& session, const Log& log) {
  const Precision precision = parse_precision(session.options().precision);
  const HardwareFacts facts = hardware_of(session);
  require_precision(precision, facts);
  if (session.rank() != 0) return;
  log.info("arithmetic: {}", arithmetic_sentence(precision, facts));
  if (const auto advice = arithmetic_advice(precision, facts)) log.warn("{}", *advice);
}

}  // namespace ronde::train
