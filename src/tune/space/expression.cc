#include "ronde/tune/space/expression.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <optional>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"

namespace ronde::tune {
namespace {

using Json = nlohmann::json;

// Recursive descent; values are computed as they are read. While `skip` is set, operands are read but not computed, so
// that only the branch that counts is.
class Reader {
 public:
  Reader(std::string_view text, const std::function<Json(const std::string&)>& look_up,
         const std::function<double()>& random, bool skip)
      : text_(text), look_up_(look_up), random_(random), skip_(skip) {}

  Json all() {
    Json value = conditional();
    if (next_word() || at_ < text_.size()) fail("unexpected text");
    return value;
  }

 private:
  [[noreturn]] void fail(std::string_view why) const {
    throw Error::bad_input("expression '{}': {} at '{}'", text_, why, text_.substr(std::min(at_, text_.size())));
  }

  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  static bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

  // The name that comes next, if one does, without taking it.
  std::optional<std::string_view> next_word() {
    skip_blanks();
    std::size_t end = at_;
    while (end < text_.size() && is_name(text_[end])) ++end;
    if (end == at_ || std::isdigit(static_cast<unsigned char>(text_[at_]))) return {};
    return text_.substr(at_, end - at_);
  }

  bool take_word(std::string_view word) {
    if (next_word() != word) return false;
    at_ += word.size();
    return true;
  }

  bool take(std::string_view sign) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }

  void need(std::string_view sign) {
    if (!take(sign)) fail(fmt::format("'{}' is missing", sign));
  }

  template <class Read>
  Json read_if(bool counts, Read read) {
    const bool before = std::exchange(skip_, skip_ || !counts);
    Json value = read();
    skip_ = before;
    return value;
  }

  // a if condition else b: which of the two counts is known after the first has been read, so it is read twice.
  Json conditional() {
    const std::size_t start = at_;
    Json value = read_if(false, [&] { return either(); });
    if (!take_word("if")) {
      at_ = start;
      return either();
    }
    const bool holds = truth(either());
    const std::size_t condition_end = at_;
    at_ = start;
    value = read_if(holds, [&] { return either(); });
    at_ = condition_end;
    if (!take_word("else")) fail("'else' is missing");
    Json other = read_if(!holds, [&] { return conditional(); });
    return holds ? value : other;
  }

  Json either() {
    Json value = both();
    while (take_word("or")) {
      const bool decided = truth(value);
      Json right = read_if(!decided, [&] { return both(); });
      if (!decided) value = std::move(right);
    }
    return value;
  }

  Json both() {
    Json value = negation();
    while (take_word("and")) {
      const bool goes_on = truth(value);
      Json right = read_if(goes_on, [&] { return negation(); });
      if (goes_on) value = std::move(right);
    }
    return value;
  }

  Json negation() {
    if (take_word("not")) return !truth(negation());
    return comparison();
  }

  Json comparison() {
    Json left = sum();
    for (const std::string_view sign : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!take(sign)) continue;
      const Json right = sum();
      if (skip_) return {};
      if (sign == "==") return left == right;
      if (sign == "!=") return left != right;
      if (left.is_string() && right.is_string())
        return compare(sign, left.get<std::string>(), right.get<std::string>());
      return compare(sign, number(left), number(right));
    }
    return left;
  }

  template <class Value>
  static bool compare(std::string_view sign, const Value& left, const Value& right) {
    if (sign == "<=") return left <= right;
    if (sign == ">=") return left >= right;
    return sign == "<" ? left < right : left > right;
  }

  Json sum() {
    Json value = product();
    for (;;) {
      if (take("+"))
        value = compute(value, product(), [](double a, double b) { return a + b; });
      else if (take("-"))
        value = compute(value, product(), [](double a, double b) { return a - b; });
      else
        return value;
    }
  }

  Json product() {
    Json value = sign();
    for (;;) {
      if (take("//"))
        value = compute(value, nonzero(sign()), [](double a, double b) { return std::floor(a / b); });
      else if (take("/"))
        value = quotient(value, nonzero(sign()));
      else if (take("%"))
        value = compute(value, nonzero(sign()), [](double a, double b) { return a - b * std::floor(a / b); });
      else if (!is_power() && take("*"))
        value = compute(value, sign(), [](double a, double b) { return a * b; });
      else
        return value;
    }
  }

  bool is_power() {
    skip_blanks();
    return text_.substr(at_).starts_with("**");
  }

  Json sign() {
    if (take("-")) return compute(0, sign(), [](double a, double b) { return a - b; });
    if (take("+")) return sign();
    Json base = atom();
    if (!take("**")) return base;
    return compute(base, sign(), [](double a, double b) { return std::pow(a, b); });
  }

  Json atom() {
    skip_blanks();
    if (at_ >= text_.size()) fail("something is missing");
    if (take("(")) {
      Json value = conditional();
      need(")");
      return value;
    }
    const char first = text_[at_];
    if (first == '"' || first == '\'') return quoted();
    if (std::isdigit(static_cast<unsigned char>(first)) || first == '.') return literal();
    const auto word = next_word();
    if (!word) fail("unexpected sign");
    at_ += word->size();
    return named(*word);
  }

  Json quoted() {
    const char quote = text_[at_++];
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("the text has no end");
    std::string value(text_.substr(at_, end - at_));
    at_ = end + 1;
    return value;
  }

  Json literal() {
    std::size_t end = at_;
    while (end < text_.size() &&
           (is_name(text_[end]) || text_[end] == '.' ||
            ((text_[end] == '-' || text_[end] == '+') && (text_[end - 1] == 'e' || text_[end - 1] == 'E'))))
      ++end;
    const std::string_view digits = text_.substr(at_, end - at_);
    at_ = end;
    if (const auto whole = parse_number<std::int64_t>(digits)) return *whole;
    if (const auto real = parse_number<double>(digits)) return *real;
    fail(fmt::format("'{}' is not a number", digits));
  }

  Json named(std::string_view word) {
    if (word == "True" || word == "true") return true;
    if (word == "False" || word == "false") return false;
    if (word == "None") return nullptr;
    if (word == "config" || word == "spec") return member(word);
    if (take("(")) return call(word);
    fail(fmt::format("'{}' is not known", word));
  }

  // config.a.b, config["a/b"], spec.config.a
  Json member(std::string_view word) {
    std::string path;
    bool is_spec = word == "spec";
    for (;;) {
      std::string part;
      if (take(".")) {
        const auto name = next_word();
        if (!name) fail("a name is missing");
        at_ += name->size();
        part = *name;
      } else if (take("[")) {
        skip_blanks();
        const Json key =
            at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) ? literal() : quoted();
        part = key.is_string() ? key.get<std::string>() : key.dump();
        need("]");
      } else {
        break;
      }
      if (is_spec && part == "config") {
        is_spec = false;
        continue;
      }
      path += (path.empty() ? "" : "/") + part;
    }
    if (path.empty()) fail(fmt::format("'{}' needs the name of a parameter, as {}.lr", word, word));
    return skip_ ? Json() : look_up_(path);
  }

  std::vector<Json> arguments() {
    std::vector<Json> values;
    if (take(")")) return values;
    do values.push_back(conditional());
    while (take(","));
    need(")");
    return values;
  }

  Json call(std::string_view name) {
    const std::vector<Json> given = arguments();
    if (name == "random" && given.empty()) return skip_ ? Json() : Json(random_());
    if (name == "choice" && !given.empty())
      return skip_ ? Json() : given[static_cast<std::size_t>(random_() * static_cast<double>(given.size()))];
    if (name == "min" || name == "max") return extreme(name == "max", given);
    if (given.size() == 2 && name == "pow")
      return compute(given[0], given[1], [](double a, double b) { return std::pow(a, b); });
    if (given.size() != 1) fail(fmt::format("there is no function {}() of {} arguments", name, given.size()));
    if (skip_ && !is_function(name)) fail(fmt::format("there is no function {}()", name));
    return skip_ ? Json() : function(name, given[0]);
  }

  static bool is_function(std::string_view name) {
    constexpr std::string_view kNames[] = {"abs", "round", "int", "float", "sqrt", "exp", "log", "log2", "log10"};
    return std::ranges::find(kNames, name) != std::end(kNames);
  }

  Json function(std::string_view name, const Json& argument) {
    const double x = number(argument);
    if (name == "abs")
      return argument.is_number_integer() ? Json(static_cast<std::int64_t>(std::abs(x))) : Json(std::abs(x));
    if (name == "round") return whole(std::nearbyint(x));
    if (name == "int") return whole(std::trunc(x));
    if (name == "float") return x;
    if (name == "sqrt") return finite(std::sqrt(x));
    if (name == "exp") return finite(std::exp(x));
    if (name == "log") return finite(std::log(x));
    if (name == "log2") return finite(std::log2(x));
    if (name == "log10") return finite(std::log10(x));
    fail(fmt::format("there is no function {}()", name));
  }

  Json extreme(bool largest, const std::vector<Json>& given) {
    if (given.empty()) fail("min() and max() need arguments");
    if (skip_) return {};
    const auto less = [this](const Json& a, const Json& b) { return number(a) < number(b); };
    return largest ? *std::ranges::max_element(given, less) : *std::ranges::min_element(given, less);
  }

  bool truth(const Json& value) const {
    if (skip_) return false;
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_number()) return value.get<double>() != 0;
    return !(value.is_null() || value.empty() || (value.is_string() && value.get<std::string>().empty()));
  }

  double number(const Json& value) const {
    if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
    if (!value.is_number()) fail(fmt::format("{} is not a number, before what follows", value.dump()));
    return value.get<double>();
  }

  Json nonzero(Json value) const {
    if (!skip_ && number(value) == 0) fail("division by 0");
    return value;
  }

  Json finite(double value) const {
    if (!std::isfinite(value)) fail("the result is not a finite number");
    return value;
  }

  Json whole(double value) const {
    if (!(std::abs(value) < 0x1p62)) fail("the result is too large for an integer");
    return static_cast<std::int64_t>(value);
  }

  Json quotient(const Json& left, const Json& right) const {
    return skip_ ? Json() : finite(number(left) / number(right));
  }

  // Integers stay integers, as in Python.
  template <class Operation>
  Json compute(const Json& left, const Json& right, Operation operation) const {
    if (skip_) return {};
    const double value = operation(number(left), number(right));
    const bool integers = left.is_number_integer() && right.is_number_integer();
    if (integers && value == std::round(value) && std::abs(value) < 0x1p53) return whole(value);
    return finite(value);
  }

  std::string_view text_;
  const std::function<Json(const std::string&)>& look_up_;
  const std::function<double()>& random_;
  bool skip_;
  std::size_t at_ = 0;
};

}  // namespace

nlohmann::json evaluate(std::string_view expression, const std::function<Json(const std::string& path)>& look_up,
                        const std::function<double()>& random) {
  return Reader(expression, look_up, random, false).all();
}

void check_expression(std::string_view expression) {
  const std::function<Json(const std::string&)> none = [](const std::string&) { return Json(); };
  const std::function<double()> zero = [] { return 0.0; };
  Reader(expression, none, zero, true).all();
}

}  // namespace ronde::tune
