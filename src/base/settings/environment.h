#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace ronde {

// The environment variables, taken once, so that whoever reads them can be tested with others.
// of_process() is the only place in Ronde that looks at a process's environment.
class Environment {
 public:
  using Variables = std::map<std::string, std::string, std::less<>>;

  static Environment of_process();
  // What another process was started with; nothing when it is gone or not ours.
  static std::optional<Environment> of_process(int pid);
  Environment(std::initializer_list<Variables::value_type> variables) : variables_(variables) {}

  std::optional<std::string> get(std::string_view name) const;
  const Variables& all() const { return variables_; }

 private:
  void add(std::string_view entry);  // NAME=VALUE

  Variables variables_;
};

}  // namespace ronde
