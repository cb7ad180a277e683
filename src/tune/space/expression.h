#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace ronde::tune {

// A value that is computed from others: "config.lr * 2", "config['a/b'] if config.depth > 3 else 64". Numbers, 'text',
// True, False, None, config.NAME and config["PATH"] (and spec.config.NAME, as old Ray programs have it), the operators
// of Python's arithmetic and comparisons, and, or, not, if-else, min, max, abs, round, int, float, sqrt, exp, log, pow,
// and random() with choice(a, b, ...). A small language on purpose: a space file cannot run anything else.
//
// `look_up` gives the value at a path such as "a/b"; it may throw, which ends the computation.
// `random` gives numbers of 0 <= u < 1.
// FAILS WITH: BadInput for text that is no such expression, and for operands that do not go together.
nlohmann::json evaluate(std::string_view expression,
                        const std::function<nlohmann::json(const std::string& path)>& look_up,
                        const std::function<double()>& random);

// Throws what evaluate() would throw for text that is no expression, without computing anything.
void check_expression(std::string_view expression);

}  // namespace ronde::tune
