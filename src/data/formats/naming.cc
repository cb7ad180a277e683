#include "ronde/data/formats/naming.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/data/formats/typed.h"
#include "ronde/data/io/file_bytes.h"

namespace ronde::data::files {
namespace {

constexpr auto kImages = std::to_array<std::string_view>({"image/encoded", "image_raw", "image"});
constexpr auto kLabels = std::to_array<std::string_view>({"class", "image/class/label", "label"});

// The name that the sample has; what was asked for must be there.
std::optional<std::string> pick(const Sample& sample, const std::string& asked, std::span<const std::string_view> usual,
                                const std::string& where) {
  if (!asked.empty()) {
    try {
      sample.at(asked);
    } catch (const Error& error) {
      throw Error::bad_input("{}: {}", where, error.message());
    }
    return asked;
  }
  for (const std::string_view name : usual)
    if (sample.find(name)) return std::string(name);
  return {};
}

// A class that is text: the name of one, or a number in letters.
std::int64_t class_of_text(std::string_view text, const Naming& naming, const std::string& where) {
  const auto found = std::ranges::find(naming.classes, text);
  if (found != naming.classes.end()) return found - naming.classes.begin();
  if (const auto number = parse_number<std::int64_t>(text)) return *number;
  throw Error::bad_input(
      "{}: class '{}' is {}", where, text.substr(0, 60),
      naming.classes.empty() ? "text, and no list of classes gives its number" : "not one of the known classes");
}

void set_class(Sample& sample, const std::string& name, const Naming& naming, const std::string& where) {
  const Array label = sample.at(name);
  const bool text = label.type() == Type::U8 && label.shape().size() == 1;
  sample.erase(name);
  if (!text && label.size() != 1) return sample.set("labels", to_f32(label));
  const std::int64_t value =
      text ? class_of_text(label.text(), naming, where) : whole_number(label, fmt::format("{}: its class", where));
  check_class(value, naming.classes.size(), where);
  sample.set("class", Array::scalar<std::int64_t>(value));
}

}  // namespace

void use_our_names(Sample& sample, const Naming& naming, const std::string& where) {
  if (const auto image = pick(sample, naming.image, kImages, where); image && *image != "image") {
    const Array picture = sample.at(*image);
    sample.erase(*image);
    sample.set("image", picture);
  }
  if (const auto label = pick(sample, naming.label, kLabels, where)) set_class(sample, *label, naming, where);
}

std::string array_name(const std::string& name, bool picture, bool alone, const Naming& naming) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
  };
  if (name == naming.image || name == naming.label) return name;
  if (naming.label.empty() && is_one_of({"y", "Y", "labels", "label", "class"})) return "label";
  if (naming.image.empty() && (alone || is_one_of({"x", "X", "images", "image", "data", "features"})))
    return picture ? "image" : "features";
  return name;
}

void check_class(std::int64_t value, std::size_t classes, const std::string& where) {
  if (value < 0) throw Error::bad_input("{}: class is {}, but classes count from 0", where, value);
  if (classes > 0 && static_cast<std::size_t>(value) >= classes)
    throw Error::bad_input("{}: class is {}, but there are {} classes, counted from 0", where, value, classes);
  if (value >= kMostClasses)
    throw Error::bad_input("{}: class is {}, but classes must be below {}", where, value, kMostClasses);
}

std::filesystem::path classes_file(const std::filesystem::path& data) {
  std::error_code ignored;
  if (std::filesystem::is_directory(data, ignored)) return data / "classes.txt";
  return data.string() + ".classes.txt";
}

std::vector<std::string> read_classes(const std::filesystem::path& data) {
  const std::filesystem::path path = classes_file(data);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  const detail::FileBytes file(path);
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  std::vector<std::string> names;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view name = trim(line);
    if (name.empty())
      throw Error::bad_input("{}: line {} is empty; each line must name a class", path.string(), names.size() + 1);
    names.emplace_back(name);
  }
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    throw Error::bad_input("{} names the class '{}' twice", path.string(), *twice);
  return names;
}

void write_classes(const std::filesystem::path& data, const std::vector<std::string>& names) {
  if (names.empty()) return;
  const std::filesystem::path path = classes_file(data);
  std::ofstream file(path, std::ios::binary);
  for (const std::string& name : names) file << name << '\n';
  file.close();
  if (!file) throw Error(Error::Kind::System, fmt::format("cannot write {}", path.string()));
}

}  // namespace ronde::data::files
