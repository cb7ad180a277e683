#include "ronde/data/formats/table/csv.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/data/formats/naming.h"
#include "ronde/data/formats/table/csv_parse.h"
#include "ronde/data/io/file_bytes.h"
#include "ronde/data/io/file_io.h"

namespace ronde::data::files {
namespace {

using Fields = std::vector<std::string>;

enum class Role { Number, Text, Class, Image, Key };
struct ColumnKind {
  std::string name;
  Role role = Role::Text;
};

bool is_number(std::string_view text) {
  return parse_number<double>(trim(text)).has_value();
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

// A first line of names: nothing in it is a number, while some of the second is; or it has a name that we know.
bool has_names(const Fields& first, const std::optional<Fields>& second, const RecordsOptions& options) {
  if (std::ranges::any_of(first, is_number)) return false;
  for (const std::string& name : first)
    if (name == options.image || name == options.label ||
        is_one_of(trim(name), {"class", "label", "image", "path", "file", "filename", "key"}))
      return true;
  return second && std::ranges::any_of(*second, is_number);
}

Role role_of(const std::string& name, const std::string& value, const RecordsOptions& options) {
  if (options.label.empty() ? is_one_of(name, {"class", "label"}) : name == options.label) return Role::Class;
  if (options.image.empty() ? is_one_of(name, {"image", "path", "file", "filename"}) : name == options.image)
    return Role::Image;
  if (name == "key") return Role::Key;
  return is_number(value) ? Role::Number : Role::Text;
}

// Without names: what is no number is a file that is there, or, on either end, the class.
Role role_of(std::size_t column, const Fields& row, const std::filesystem::path& folder) {
  std::error_code ignored;
  if (is_number(row[column])) return Role::Number;
  if (std::filesystem::is_regular_file(folder / row[column], ignored)) return Role::Image;
  return column == 0 || column + 1 == row.size() ? Role::Class : Role::Text;
}

std::vector<ColumnKind> columns_of(const std::optional<Fields>& names, const Fields& row,
                                   const RecordsOptions& options) {
  std::vector<ColumnKind> columns;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (names)
      columns.push_back({std::string(trim((*names)[i])), Role::Text});
    else
      columns.push_back({std::to_string(i), Role::Text});
    columns.back().role = names || !options.label.empty() || !options.image.empty()
                              ? role_of(columns.back().name, row[i], options)
                              : role_of(i, row, options.path.parent_path());
  }
  const auto one_of = [&](Role role, const std::string& asked, const char* what) {
    const auto count = std::ranges::count(columns, role, &ColumnKind::role);
    if (count > 1)
      throw Error::bad_input("{}: {} columns could be the {}: choose one", options.path.string(), count, what);
    if (count == 0 && !asked.empty()) throw Error::bad_input("{} has no column '{}'", options.path.string(), asked);
  };
  one_of(Role::Class, options.label, "class");
  one_of(Role::Image, options.image, "picture");
  return columns;
}

class CsvRecords : public Records {
 public:
  explicit CsvRecords(const RecordsOptions& options)
      : name_(options.path.string()), folder_(options.path.parent_path()), file_(options.path) {
    std::string_view rest = text();
    if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);  // some write this before UTF-8
    separator_ = guess_separator(rest);
    std::size_t line = 1;
    read_beginning(rest, line, options);
    scan(rest, line, options.progress);
    if (rows_.empty()) throw Error::bad_input("{} holds no rows", name_);
    name_classes(options);
  }

  std::string name() const override { return name_; }
  std::int64_t size() const override { return static_cast<std::int64_t>(rows_.size()); }
  std::vector<std::string> classes() const override { return classes_; }
  std::string where(std::int64_t index) const override { return fmt::format("{}: line {}", name_, row(index).line); }

  std::size_t bytes(std::int64_t index) const override {
    const std::size_t own = 2 * row(index).bytes + 1024;  // a number takes four bytes, and at least two letters
    const std::size_t column = column_of(Role::Image);
    if (column == columns_.size()) return own;
    try {
      return own + detail::facts_of((folder_ / fields_of(index)[column]).string()).bytes;
    } catch (const Error&) {  // read() says what is wrong
      return own;
    }
  }

  Sample read(std::int64_t index) const override {
    const Fields fields = fields_of(index);
    Sample sample;
    std::vector<float> numbers;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      switch (columns_[i].role) {
        case Role::Number: numbers.push_back(number(fields[i], i, index)); break;
        case Role::Text: sample.set(columns_[i].name, Array::bytes_of(fields[i])); break;
        case Role::Key: sample.set("key", Array::bytes_of(fields[i])); break;
        case Role::Class: sample.set("class", Array::scalar(class_of(fields[i], index))); break;
        case Role::Image: sample.set("image", picture(fields[i], index)); break;
      }
    }
    if (numbers.empty()) return sample;
    Array features(Type::F32, {static_cast<std::int64_t>(numbers.size())});
    std::ranges::copy(numbers, features.values<float>().begin());
    sample.set("features", std::move(features));
    return sample;
  }

 private:
  struct Row {
    std::size_t offset = 0, bytes = 0, line = 0;
  };

  const Row& row(std::int64_t index) const { return rows_[static_cast<std::size_t>(index)]; }
  std::string_view text() const { return {reinterpret_cast<const char*>(file_.bytes().data()), file_.bytes().size()}; }

  Fields fields_of(std::int64_t index) const {
    std::string_view rest = text().substr(row(index).offset, row(index).bytes);
    Fields fields;
    take_csv_row(rest, separator_, fields, name_, row(index).line);
    return fields;
  }

  // Looks at the first two rows, which say what the columns are, and takes a line of names off.
  void read_beginning(std::string_view& rest, std::size_t& line, const RecordsOptions& options) {
    if (rest.empty()) throw Error::bad_input("{} is empty", name_);
    std::string_view after = rest;
    Fields first, second;
    const std::size_t lines = take_csv_row(after, separator_, first, name_, line);
    std::string_view later = after;
    std::optional<Fields> next;
    if (!later.empty()) {
      take_csv_row(later, separator_, second, name_, line + lines);
      next = second;
    }
    if (!has_names(first, next, options)) {
      columns_ = columns_of({}, first, options);
      return;
    }
    if (!next) throw Error::bad_input("{} holds a header line but no rows", name_);
    if (first.size() != second.size()) throw other_width(line + lines, second.size(), first.size());
    columns_ = columns_of(first, second, options);
    rest = after;
    line += lines;
  }

  Error other_width(std::size_t line, std::size_t found, std::size_t wanted) const {
    return Error::bad_input("{}: line {}: {}, expected {}", name_, line, counted(found, "field"), wanted);
  }

  void scan(std::string_view rest, std::size_t line, const Progress& progress) {
    const std::size_t class_column = column_of(Role::Class);
    Fields fields;
    while (!rest.empty()) {
      const std::size_t offset = text().size() - rest.size();
      const std::size_t lines = take_csv_row(rest, separator_, fields, name_, line);
      const std::size_t bytes = text().size() - rest.size() - offset;
      const bool blank = fields.size() == 1 && fields[0].empty() && columns_.size() > 1;
      if (!blank) {
        if (fields.size() != columns_.size()) throw other_width(line, fields.size(), columns_.size());
        if (class_column < fields.size()) add_class(fields[class_column]);
        rows_.push_back({.offset = offset, .bytes = bytes, .line = line});
      }
      line += lines;
      if (progress && rows_.size() % 65536 == 0)
        progress(static_cast<std::int64_t>(offset), static_cast<std::int64_t>(text().size()));
    }
  }

  std::size_t column_of(Role role) const {
    return static_cast<std::size_t>(std::ranges::find(columns_, role, &ColumnKind::role) - columns_.begin());
  }

  void add_class(const std::string& text) {
    const std::string_view value = trim(text);
    if (!parse_number<std::int64_t>(value)) all_numbers_ = false;
    if (numbers_.size() <= static_cast<std::size_t>(kMostClasses)) numbers_.emplace(value, 0);
  }

  // Names count in their order; numbers are what they are.
  void name_classes(const RecordsOptions& options) {
    if (!all_numbers_) {
      std::int64_t next = 0;
      for (auto& [name, number] : numbers_) {
        number = next++;
        classes_.push_back(name);
      }
      if (next > kMostClasses)
        throw Error::bad_input("{}: column '{}' has too many different values to be a class", name_,
                               columns_[column_of(Role::Class)].name);
      return;
    }
    numbers_.clear();
    classes_ = read_classes(options.path);
  }

  std::int64_t class_of(const std::string& text, std::int64_t index) const {
    const std::string_view value = trim(text);
    if (!all_numbers_) return numbers_.find(value)->second;
    const std::int64_t number = parse_number<std::int64_t>(value).value_or(-1);
    check_class(number, classes_.size(), where(index));
    return number;
  }

  float number(const std::string& field, std::size_t column, std::int64_t index) const {
    const auto value = parse_number<double>(trim(field));
    if (!value)
      throw Error::bad_input("{}: field {} ('{}') must be a number, got '{}'", where(index), column + 1,
                             columns_[column].name, field.substr(0, 60));
    return static_cast<float>(*value);
  }

  Array picture(const std::string& file, std::int64_t index) const {
    const std::string path = (folder_ / file).string();
    try {
      const FileDescriptor open = detail::open_to_read(path);
      const auto bytes =
          std::make_shared<const std::string>(detail::read_exactly(open, 0, detail::facts_of(open, path).bytes, path));
      return Array::view(Type::U8, {static_cast<std::int64_t>(bytes->size())}, bytes->data(), bytes);
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("{}: {}", where(index), error.message()));
    }
  }

  const std::string name_;
  const std::filesystem::path folder_;
  const detail::FileBytes file_;
  char separator_ = ',';
  std::vector<ColumnKind> columns_;
  std::vector<Row> rows_;
  bool all_numbers_ = true;                                   // in the column of classes
  std::map<std::string, std::int64_t, std::less<>> numbers_;  // of classes that are text
  std::vector<std::string> classes_;
};

}  // namespace

std::unique_ptr<Records> open_csv(const RecordsOptions& options) {
  return std::make_unique<CsvRecords>(options);
}

bool looks_like_csv(const std::filesystem::path& path) {
  return path.extension() == ".csv" || path.extension() == ".tsv";
}

}  // namespace ronde::data::files
