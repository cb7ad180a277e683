#include "ronde/train/limits/limits_text.h"

#include <cmath>

#include "ronde/base/text/format.h"
#include "ronde/base/text/table.h"
#include "ronde/base/text/units.h"

namespace ronde::train {
namespace {

using Json = nlohmann::ordered_json;

std::string memory_text(const Limits& limits) {
  const Limits::Variant& asked = limits.asked;
  const MemoryNeed& memory = asked.memory;
  Table table({{"memory per rank"}, {"", Align::Right}});
  const auto line = [&](const char* what, double bytes) { table.add({what, bytes_text(bytes)}); };
  line("parameters", asked.known.parameter_bytes + asked.known.buffer_bytes);
  line("gradients", asked.known.gradient_bytes);
  line("optimizer state", asked.known.optimizer_bytes);
  line("activations", memory.activations);
  line("peak of all tensors", memory.peak);
  if (limits.machine.kind == Hardware::Kind::Cpu) {
    line("prefetched batches", memory.ahead);
    if (memory.checkpoint > 0) line("checkpoint being written", memory.checkpoint);
  }
  line("the program itself", memory.program);
  line("total", memory.rank);
  std::string text = table.text();
  if (memory.available <= 0)
    return text + "largest batch: not known, because the memory of the machine is not known (set --memory)\n";
  if (memory.largest_batch == 0)
    return text + fmt::format("largest batch: none; not even one sample fits into {}\n", bytes_text(memory.available));
  const bool fits = memory.rank <= memory.available;
  return text + fmt::format("largest batch: {} on {}, with {} for each; the recipe's {} {}\n", memory.largest_batch,
                            limits.spread.ranks == 1 ? "1 rank" : fmt::format("{} ranks", limits.spread.ranks),
                            bytes_text(memory.available), limits.batch, fits ? "fits" : "does not fit");
}

std::string speeds_text(const Limits& limits) {
  const auto& speeds = limits.asked.speeds;
  if (speeds.empty()) return verdict(speeds, limits.spread.ranks) + "\n";
  Table table({{"limit"}, {"samples/s per rank", Align::Right}, {"from"}});
  for (const SpeedLimit& one : speeds)
    table.add(
        {one.what,
         one.samples_per_s < 10 ? fmt::format("{:.2f}", one.samples_per_s) : fmt::format("{:.0f}", one.samples_per_s),
         one.by});
  return table.text() + verdict(speeds, limits.spread.ranks) + "\n";
}

double speed_of(const Limits::Variant& variant) {
  const SpeedLimit* lowest = binding(variant.speeds);
  return lowest ? lowest->samples_per_s : 0;
}

// What the other way round would change.
std::string other_text(const Limits& limits) {
  if (!limits.other) return "";
  const Limits::Variant &asked = limits.asked, &other = *limits.other;
  const double before = speed_of(asked), after = speed_of(other);
  std::string text =
      fmt::format("model.recompute = {}: activations {} instead of {}, peak of tensors {} instead of {}",
                  other.recompute, bytes_text(other.memory.activations), bytes_text(asked.memory.activations),
                  bytes_text(other.memory.peak), bytes_text(asked.memory.peak));
  if (other.memory.largest_batch > 0 && asked.memory.largest_batch > 0)
    text += fmt::format(", largest batch {} instead of {}", other.memory.largest_batch, asked.memory.largest_batch);
  if (before > 0 && after > 0)
    text += fmt::format(", and {:.0f} % {} time per step", 100 * std::abs(before / after - 1),
                        after < before ? "more" : "less");
  return text + "\n";
}

Json json_of(const Limits::Variant& variant) {
  const DryRun& known = variant.known;
  const MemoryNeed& memory = variant.memory;
  Json speeds = Json::array();
  for (const SpeedLimit& one : variant.speeds)
    speeds.push_back({{"what", one.what}, {"samples_per_s", one.samples_per_s}, {"by", one.by}});
  const SpeedLimit* lowest = binding(variant.speeds);
  return {{"recompute", variant.recompute},
          {"parameters", known.parameters},
          {"bytes",
           {{"parameters", known.parameter_bytes},
            {"buffers", known.buffer_bytes},
            {"gradients", known.gradient_bytes},
            {"optimizer", known.optimizer_bytes},
            {"activations", memory.activations},
            {"peak", memory.peak},
            {"ahead", memory.ahead},
            {"checkpoint", memory.checkpoint},
            {"program", memory.program},
            {"rank", memory.rank},
            {"available", memory.available > 0 ? Json(memory.available) : Json(nullptr)}}},
          {"largest_batch", memory.available > 0 ? Json(memory.largest_batch) : Json(nullptr)},
          {"flops_forward", known.flops},
          {"speeds", speeds},
          {"binding", lowest ? Json(lowest->what) : Json(nullptr)}};
}

}  // namespace

std::string bytes_text(double bytes) {
  return format_bytes(static_cast<std::uint64_t>(bytes));
}

std::string to_text(const Limits& limits) {
  const DryRun& known = limits.asked.known;
  return fmt::format("{}: {} parameters, {} inputs, batch {} on {}; {}{}\n\n{}\n{}{}{}", limits.model, known.parameters,
                     data::shape_text(known.kind.shape()), limits.batch,
                     limits.spread.ranks == 1 ? "1 rank" : fmt::format("{} ranks", limits.spread.ranks),
                     limits.machine.name, limits.asked.recompute ? ", model.recompute" : "", memory_text(limits),
                     speeds_text(limits), limits.other ? "\n" : "", other_text(limits));
}

nlohmann::ordered_json to_json(const Limits& limits) {
  return {{"model", limits.model},          {"batch", limits.batch},
          {"ranks", limits.spread.ranks},   {"machine", limits.machine.name},
          {"asked", json_of(limits.asked)}, {"other", limits.other ? json_of(*limits.other) : Json(nullptr)}};
}

}  // namespace ronde::train
