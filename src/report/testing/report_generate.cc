// Writes the trace of a run that never was: report_generate RANKS STEPS FOLDER [LAYERS] [fault ...]
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/report/testing/generate.h"

namespace {

using namespace ronde;
using namespace ronde::report::testing;

void add(Faults& faults, std::string_view word) {
  if (word == "slow-rank")
    faults.slow_rank = 1;
  else if (word == "slow-input")
    faults.input = 30'000'000;
  else if (word == "slow-link")
    faults.link = 5'000'000;
  else if (word == "late-bucket")
    faults.first_bucket = 0.8;
  else if (word == "evaluate")
    faults.evaluate_every = 5;
  else if (word == "jitter")
    faults.jitter = 0.02;
  else
    throw Error::bad_input("unknown fault '{}': use slow-rank, slow-input, slow-link, late-bucket, evaluate or jitter",
                           word);
}

int number(const char* word) {
  const auto found = parse_number<int>(word);
  if (!found) throw Error::bad_input("'{}' is not a number", word);
  return *found;
}

}  // namespace

int main(int count, char** words) try {
  if (count < 4) throw Error::bad_input("report_generate RANKS STEPS FOLDER [LAYERS] [fault ...]");
  GenerateOptions options{.folder = words[3], .ranks = number(words[1]), .steps = number(words[2])};
  if (count > 4) options.shape.layers = number(words[4]);
  for (int i = 5; i < count; ++i) add(options.faults, words[i]);
  const Generated made = generate(options);
  std::printf("%llu bytes\n", static_cast<unsigned long long>(made.bytes));
  return 0;
} catch (const ronde::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return error.exit_code();
}
