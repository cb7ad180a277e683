// Datasets: sources and steps. ../ronde/data gives them their Python names, defaults and words.
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "data_functions.h"
#include "data_parts.h"
#include "data_values.h"
#include "parts.h"
#include "ronde/base/error.h"
#include "ronde/base/settings/environment.h"
#include "ronde/data/picture/bands_decoder.h"
#include "ronde/data/picture/picture_decoder.h"
#include "ronde/data/settings.h"
#include "ronde/data/tools/advice.h"

namespace ronde::python {
namespace {

using data::Dataset;
using data::Decoder;
using data::steps::MapOptions;
using SharedDecoder = std::shared_ptr<Decoder>;

Dataset from_files(const std::filesystem::path& path, const std::string& format, const std::string& image,
                   const std::string& label) {
  const py::gil_scoped_release unlocked;
  return data::from_files({.path = path,
                           .format = format,
                           .image = image,
                           .label = label,
                           .cache = data::index_folder(Environment::of_process())});
}

Dataset known(data::SourceOptions options, const std::string& split, const std::string& target) {
  if (split != "train" && split != "test") throw Error::bad_input("split must be 'train' or 'test', got '{}'", split);
  options.split = split == "train" ? data::Split::Train : data::Split::Test;
  options.target = data::parse_target(target);
  const py::gil_scoped_release unlocked;
  return data::known(options);
}

data::Layout layout(bool channels_last) {
  return channels_last ? data::Layout::ChannelsLast : data::Layout::ChannelsFirst;
}

SharedDecoder pictures(data::PictureOptions options, const std::string& normalize, const std::string& target,
                       bool channels_last) {
  options.normal = data::parse_normalization(normalize, options.channels);
  options.target = data::parse_target(target);
  options.layout = layout(channels_last);
  return data::make_picture_decoder(options);
}

SharedDecoder bands(data::BandsOptions options, const std::string& target, bool channels_last) {
  options.target = data::parse_target(target);
  options.layout = layout(channels_last);
  return data::make_bands_decoder(std::move(options));
}

std::vector<std::string> advice(const Dataset& dataset) {
  const py::gil_scoped_release unlocked;
  data::StorageFacts facts;
  std::vector<std::string> sentences;
  if (const auto& records = dataset.origin().records) {
    facts = data::storage_facts(*records, dataset.origin().path);
    sentences = data::advise_on_storage(facts);
  }
  for (std::string& sentence : data::advise_on_steps(dataset.steps(), facts)) sentences.push_back(std::move(sentence));
  return sentences;
}

std::vector<std::string> step_names(const Dataset& dataset) {
  std::vector<std::string> names;
  for (const data::Step& step : dataset.steps()) names.emplace_back(data::name(step));
  return names;
}

// A sample is a row of each array. Python is not asked for any.
Dataset rows_of(const py::dict& arrays, const std::string& name) {
  const auto whole = std::make_shared<const data::Sample>(to_sample(arrays));
  if (whole->empty()) throw Error::bad_input("{} needs at least one array", name);
  std::optional<std::int64_t> rows;
  for (const auto& [column, array] : whole->arrays()) {
    if (array.shape().empty()) throw Error::bad_input("'{}' is a single number: it has no rows", column);
    const std::int64_t here = array.shape()[0];
    if (rows && *rows != here)
      throw Error::bad_input("'{}' has {} rows, but '{}' has {}", column, here, whole->arrays()[0].name, *rows);
    rows = here;
  }
  const auto row = [whole](std::int64_t index) {
    data::Sample sample;
    for (const auto& [column, array] : whole->arrays()) {
      data::Shape shape(array.shape().begin() + 1, array.shape().end());
      const auto bytes = static_cast<std::size_t>(data::values_in(shape)) * data::size_of(array.type());
      const auto* const begin = static_cast<const std::byte*>(array.data()) + static_cast<std::size_t>(index) * bytes;
      sample.set(column, data::Array::view(array.type(), std::move(shape), begin, whole));
    }
    return sample;
  };
  return data::function(*rows, row, name);
}

void add_sources(py::module_& module) {
  module.def("from_files", &from_files);
  module.def("formats", &data::record_formats);
  module.def("known_names", &data::source_names);
  module.def("known", [](const std::string& name, const std::string& path, const std::string& split,
                         std::int64_t samples, std::int64_t classes, std::int64_t channels, std::int64_t resolution,
                         std::uint64_t seed, bool augment, const std::string& target) {
    return known({.name = name,
                  .path = path,
                  .samples = samples,
                  .classes = classes,
                  .channels = channels,
                  .resolution = resolution,
                  .seed = seed,
                  .augment = augment},
                 split, target);
  });
  module.def("function", [](std::int64_t samples, py::function function, const std::string& name) {
    return data::function(samples, index_function(std::move(function), name), name);
  });
  module.def("rows", &rows_of);
  module.def("generator", [](py::function restart, const std::string& name) {
    return data::generator(restart_function(std::move(restart), name), name);
  });
  module.def("zip", [](const Dataset& first, const Dataset& second) { return data::zip(first, second); });
}

void add_decoders(py::module_& module) {
  py::class_<Decoder, SharedDecoder>(module, "Decoder").def_property_readonly("draws", &Decoder::draws);
  module.def("pictures",
             [](int resolution, bool augment, std::pair<double, double> scale, std::pair<double, double> ratio,
                bool flip, bool rotate, double jitter, double cutout, const std::string& normalize,
                std::int64_t channels, std::int64_t classes, const std::string& target, bool channels_last, bool bf16) {
               return pictures({.resolution = resolution,
                                .channels = channels,
                                .augment = augment,
                                .crop = {scale.first, scale.second},
                                .least_aspect = ratio.first,
                                .most_aspect = ratio.second,
                                .flip = flip,
                                .rotate = rotate,
                                .jitter = jitter,
                                .cutout = cutout,
                                .bf16 = bf16,
                                .classes = classes},
                               normalize, target, channels_last);
             });
  module.def("bands", [](std::vector<std::string> names, int resolution, bool augment, bool flip, bool rotate,
                         double cutout, std::vector<float> mean, std::vector<float> deviation, std::int64_t classes,
                         const std::string& target, bool channels_last, bool bf16) {
    return bands({.bands = std::move(names),
                  .resolution = resolution,
                  .augment = augment,
                  .flip = flip,
                  .rotate = rotate,
                  .cutout = cutout,
                  .normal = {std::move(mean), std::move(deviation)},
                  .bf16 = bf16,
                  .classes = classes},
                 target, channels_last);
  });
}

using DatasetClass = py::class_<Dataset>;

void add_order_steps(DatasetClass& type) {
  type.def("shuffle", [](const Dataset& from, std::uint64_t seed) { return from | data::shuffle(seed); });
  type.def("shuffle_chunks", [](const Dataset& from, std::uint64_t seed, std::int64_t window) {
    return from | data::shuffle_chunks(seed, window);
  });
  type.def("shuffle_buffer", [](const Dataset& from, std::size_t samples, std::uint64_t seed) {
    return from | data::shuffle_buffer(samples, seed);
  });
  type.def("shard", [](const Dataset& from, int rank, int ranks) { return from | data::shard(rank, ranks); });
  type.def("take", [](const Dataset& from, std::int64_t samples) { return from | data::take(samples); });
  type.def("skip", [](const Dataset& from, std::int64_t samples) { return from | data::skip(samples); });
  type.def("repeat", [](const Dataset& from, std::int64_t epochs) { return from | data::repeat(epochs); });
  type.def("split", [](const Dataset& from, double begin, double end, std::uint64_t seed) {
    return from | data::split(begin, end, seed);
  });
}

void add_sample_steps(DatasetClass& type) {
  type.def("decode", [](const Dataset& from, const SharedDecoder& decoder, const std::string& name, int threads) {
    return from | data::map(decoder, {.name = name, .threads = threads});
  });
  type.def("map", [](const Dataset& from, py::function function, const std::string& name, int threads, bool ordered,
                     bool random) {
    const MapOptions options{.name = name, .threads = threads, .ordered = ordered, .random = random};
    return from | data::Step(data::steps::Map{map_function(std::move(function), name, random), options});
  });
  type.def("filter", [](const Dataset& from, py::function keep) {
    return from | data::filter(filter_function(std::move(keep)));
  });
  type.def("flat_map", [](const Dataset& from, py::function function) {
    return from | data::flat_map(dataset_function(std::move(function), "flat_map"));
  });
  type.def("interleave", [](const Dataset& from, py::function function, std::size_t cycle) {
    return from | data::interleave(dataset_function(std::move(function), "interleave"), cycle);
  });
  type.def("cache", [](const Dataset& from, const std::filesystem::path& folder, std::size_t bytes) {
    return from | data::cache(folder, bytes);
  });
}

void add_batch_steps(DatasetClass& type) {
  type.def("batch", [](const Dataset& from, std::int64_t samples, bool drop_last, bool pad) {
    return from | data::batch(samples, drop_last ? data::steps::Last::Drop : data::steps::Last::Keep, pad);
  });
  type.def("map_batch", [](const Dataset& from, py::function function, const std::string& name, int threads) {
    return from | data::map_batch(batch_function(std::move(function), name), {.name = name, .threads = threads});
  });
  type.def("unbatch", [](const Dataset& from) { return from | data::unbatch(); });
  type.def("prefetch", [](const Dataset& from, std::size_t batches) { return from | data::prefetch(batches); });
  type.def("to_device", [](const Dataset& from, int device) { return from | data::to_device(device); });
}

}  // namespace

void add_data(py::module_& module) {
  py::module_ part = module.def_submodule("data", "The input pipeline, as ronde.data uses it.");
  DatasetClass type(part, "Dataset");
  type.def_property_readonly("source", [](const Dataset& dataset) { return dataset.origin().name; });
  type.def_property_readonly("steps", &step_names);
  type.def_property_readonly("samples", [](const Dataset& dataset) -> std::optional<std::int64_t> {
    if (const auto& records = dataset.origin().records) return records->size();
    return {};
  });
  type.def_property_readonly("classes", [](const Dataset& dataset) {
    const auto& records = dataset.origin().records;
    return records ? records->classes() : std::vector<std::string>();
  });
  type.def("advice", &advice);
  add_order_steps(type);
  add_sample_steps(type);
  add_batch_steps(type);
  add_sources(part);
  add_decoders(part);
  add_pipeline(part);
}

}  // namespace ronde::python
