#include <cstdint>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "ronde/base/error.h"
#include "ronde/base/text/format.h"
#include "ronde/base/text/text.h"
#include "ronde/base/text/units.h"
#include "ronde/cli/data/data.h"
#include "ronde/cli/program/progress_bar.h"
#include "ronde/data/formats/pack/pack_make.h"

namespace ronde::cli {
namespace {

constexpr std::size_t kNamed = 10;  // bad samples that are printed; the manifest has all

// As they were typed: CLI11 would say less than we can.
struct PackFlags {
  std::string source, destination, format, short_side, quality, shard_size, seed;
  bool shuffle = false, overwrite = false;
};

std::uint64_t parse_size(const std::string& text) {
  try {
    return parse_bytes(text);
  } catch (const Error& error) {
    throw Error::bad_input("--shard-size {}: {}", text, error.message());
  }
}

template <class Number>
Number parse_count(const char* flag, const std::string& text, Number least, Number most) {
  const auto number = parse_number<Number>(text);
  if (!number || *number < least || *number > most)
    throw Error::bad_input("{} {}: write a whole number from {} to {}", flag, text, least, most);
  return *number;
}

data::files::PackOptions options_of(const PackFlags& flags, const Context& context) {
  data::files::PackOptions options;
  if (flags.destination.empty()) throw Error::bad_input("missing output folder: ronde data pack SOURCE DEST");
  options.folder = flags.destination;
  if (!flags.shard_size.empty()) options.shard_bytes = parse_size(flags.shard_size);
  if (!flags.short_side.empty()) options.short_side = parse_count("--short-side", flags.short_side, 1, 65500);
  if (!flags.quality.empty()) options.quality = parse_count("--quality", flags.quality, 1, 100);
  if (!flags.seed.empty() && !flags.shuffle) throw Error::bad_input("--seed needs --shuffle");
  if (flags.shuffle)
    options.shuffle_seed = flags.seed.empty() ? 0 : parse_count<std::uint64_t>("--seed", flags.seed, 0, UINT64_MAX);
  options.stop_on_error = context.settings.get<"data.on_error">() == "stop";
  options.overwrite = flags.overwrite;
  options.threads = static_cast<int>(context.settings.get<"data.threads">());
  return options;
}

int pack(const PackFlags& flags, const Context& context) {
  auto options = options_of(flags, context);
  const auto records = data::open_records(records_options(flags.source, flags.format, context));
  const ProgressBar bar("packing", "samples");
  options.progress = bar;
  const data::files::Packed packed = data::files::make_pack(*records, options);
  bar.clear();
  const auto& manifest = packed.manifest;
  if (packed.was_there) fmt::print("{} was already complete\n", flags.destination);
  if (packed.went_on_at > 0) fmt::print("resumed after sample {}\n", packed.went_on_at);
  fmt::print("{}: {} in {}, {}\n", flags.destination, counted(static_cast<std::size_t>(manifest.samples()), "sample"),
             counted(manifest.shards.size(), "shard"), format_bytes(manifest.bytes()));
  if (manifest.skipped.empty()) return 0;
  fmt::print("left out: {}\n", counted(manifest.skipped.size(), "bad sample"));
  for (std::size_t i = 0; i < std::min(kNamed, manifest.skipped.size()); ++i)
    fmt::print("  {}: {}\n", manifest.skipped[i].where, manifest.skipped[i].why);
  if (manifest.skipped.size() > kNamed) fmt::print("  ... pack.json lists all of them\n");
  return 0;
}

}  // namespace

void add_data_pack(CLI::App& data, std::function<int(const Context&)>& command) {
  auto flags = std::make_shared<PackFlags>();
  CLI::App* pack_command = data.add_subcommand("pack",
                                               "Make a pack: large files with an index and checksums, fast to read in "
                                               "any order. Resumes where an earlier run was interrupted");
  pack_command->add_option("SOURCE", flags->source, "Folder or file of samples, in any format");
  pack_command->add_option("DEST", flags->destination, "Folder for the pack");
  add_format_flag(*pack_command, flags->format);
  pack_command->add_flag("--shuffle", flags->shuffle,
                         "Store the samples in random order, so that reading them in order is enough");
  pack_command->add_option("--seed", flags->seed, "Seed of the random order, default 0")->type_name("NUMBER");
  pack_command
      ->add_option("--short-side", flags->short_side,
                   "Store images again as JPEGs that decode fast, with a short side of this many pixels")
      ->type_name("PIXELS");
  pack_command->add_option("--quality", flags->quality, "JPEG quality of those images, 1 to 100, default 90")
      ->type_name("NUMBER");
  pack_command->add_option("--shard-size", flags->shard_size, "Size of each file, default 256MiB")->type_name("BYTES");
  pack_command->add_flag("--overwrite", flags->overwrite,
                         "Start over if an interrupted pack in DEST had another source or other options");
  pack_command->callback(
      [&command, flags] { command = [flags](const Context& context) { return pack(*flags, context); }; });
}

}  // namespace ronde::cli
