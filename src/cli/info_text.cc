// How `ronde info` reads on a terminal.
#include "ronde/base/text/table.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/base/version.h"
#include "ronde/cli/info.h"
#include "ronde/cli/program/parts.h"
#include "ronde/topology/draw.h"

namespace ronde::cli {
namespace {

// "  title        text": the two columns of most sections.
std::string line(std::string_view title, std::string_view text) {
  return fmt::format("  {:<16} {}\n", title, text);
}

std::string indented(const std::string& text) {
  std::string out;
  for (const auto row : split(trim(text), '\n')) out += fmt::format("  {}\n", row);
  return out;
}

std::string parts_text(const Paint& paint) {
  std::string built_in, left_out;
  for (const Part& part : parts()) {
    if (!part.built_in) {
      left_out += line(part.name, fmt::format("{}; provided by {}", part.purpose, part.package));
      continue;
    }
    std::string text = fmt::format("{:<12} {}", part.version, part.purpose);
    if (!part.detail.empty()) text += paint.dim(fmt::format(" ({})", part.detail));
    built_in += line(part.name, text);
  }
  std::string out = paint.bold("Built in") + "\n" + built_in;
  if (!left_out.empty()) out += paint.bold("Left out") + "\n" + left_out;
  return out;
}

std::string mpi_text(const Info& info, const Paint& paint) {
  if (info.mpi_failure) return paint.red("cannot be loaded: ") + info.mpi_file;
  if (info.mpi_file.empty()) return "none";
  return info.mpi_version + paint.dim(fmt::format(" ({})", info.mpi_file));
}

std::string torch_uses(const TorchFacts& torch) {
  std::string text = fmt::format("{} kernels", torch.cpu_capability);
  if (!torch.onednn.empty()) text += ", oneDNN " + torch.onednn;
  if (!torch.mkl.empty()) text += ", MKL " + torch.mkl;
  return text + fmt::format(", {} per operation", counted(static_cast<std::size_t>(torch.threads), "thread"));
}

std::string available(std::uint64_t free, std::uint64_t total) {
  return fmt::format("{}, {} free", format_bytes(total), format_bytes(free));
}

std::string host_text(const Info& info, const Paint& paint) {
  std::string out = paint.bold("Software at run time") + "\n";
  out += line("MPI library", mpi_text(info, paint));
  if (info.torch) out += line("torch uses", torch_uses(*info.torch));
  out += paint.bold("Machine") + "\n";
  out += indented(topology::draw(info.machine));
  out += line("instructions", info.instruction_sets.empty() ? "unknown" : join(info.instruction_sets, " "));
  out += line("memory", available(info.memory.available, info.memory.total));
  const auto& shm = info.shared_memory;
  out += line("/dev/shm", shm ? available(shm->available, shm->total) : "not available");
  out +=
      line("this folder", fmt::format("{} ({}), {}", info.folder_system.type, topology::name(info.folder_system.kind),
                                      available(info.folder_system.available, info.folder_system.total)));
  return out;
}

std::string gpus_text(const Info& info, const Paint& paint) {
  std::string out = paint.bold("GPUs") + "\n";
  if (info.gpus.empty()) out += "  none: " + info.no_gpu_reason + "\n";
  for (std::size_t i = 0; i < info.gpus.size(); ++i) {
    const auto& gpu = info.gpus[i];
    out += line(fmt::format("gpu {}", i),
                fmt::format("{}, {}, compute capability {}.{}, {}", gpu.name,
                            available(gpu.free_bytes, gpu.total_bytes), gpu.major, gpu.minor, gpu.bus_id));
  }
  return out;
}

std::string changed_settings(const Settings& settings, const Paint& paint) {
  std::string out = paint.bold("Settings") + "\n";
  bool any = false;
  for (std::size_t i = 0; i < kSettings.size(); ++i) {
    const auto& entry = settings.entries()[i];
    if (entry.origin == "default") continue;
    out += line(kSettings[i].key, fmt::format("{} (from {})", entry.text, entry.origin));
    any = true;
  }
  return out + (any ? "  the others have their defaults" : "  all have their defaults") +
         "; 'ronde info --settings' lists them";
}

}  // namespace

std::string settings_table(const Settings& settings) {
  Table table({{"setting"}, {"value"}, {"from"}, {"takes"}, {"what it does"}});
  for (std::size_t i = 0; i < kSettings.size(); ++i) {
    const Setting& setting = kSettings[i];
    const auto& entry = settings.entries()[i];
    table.add({std::string(setting.key), entry.text, entry.origin,
               std::string(setting.range.empty() ? name(setting.type) : setting.range), std::string(setting.help)});
  }
  return table.text();
}

std::string to_text(const Info& info, const Paint& paint) {
  return paint.bold(fmt::format("Ronde {} ({})", version(), revision())) + "\n" + parts_text(paint) +
         host_text(info, paint) + gpus_text(info, paint) + changed_settings(info.settings, paint);
}

}  // namespace ronde::cli
