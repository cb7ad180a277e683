#include "ronde/launch/horovod/horovodrun.h"

#include <functional>

#include <gtest/gtest.h>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/launch/cluster/shell.h"
#include "ronde/launch/process/test_complaint.h"

namespace ronde::launch {
namespace {

TranslatedCommand translated(std::string_view line) {
  return from_horovodrun(shell_words(line, "test"));
}

std::string ours(std::string_view line) {
  return join(translated(line).words, " ");
}

TEST(Horovodrun, OwnFlagsPass) {
  EXPECT_EQ(ours("run -n 4 -H a:2,b:2 --bind core --mpi-args '--x y'"),
            "run -n 4 -H a:2,b:2 --bind core --mpi-args --x y");
}

TEST(Horovodrun, FlagsBecomeSettings) {
  EXPECT_EQ(ours("-np 4 -hostfile h -cb"), "-n 4 --hostfile h --check-build");
  EXPECT_EQ(ours("--fusion-threshold-mb 32"), "--comm-fusion-bytes 32MiB");
  EXPECT_EQ(ours("--fusion-threshold-mb=0"), "--comm-fusion-bytes 0MiB");
  EXPECT_EQ(ours("--autotune --autotune-log-file f.csv"), "--comm-autotune true --comm-autotune-file f.csv");
  EXPECT_EQ(ours("--no-autotune"), "--comm-autotune false");
  EXPECT_EQ(ours("--stall-check-warning-time-seconds 60 --stall-check-shutdown-time-seconds 90 --start-timeout 5"),
            "--comm-stall-warn 60s --comm-stall-abort 90s --comm-start-timeout 5s");
  EXPECT_EQ(ours("--network-interfaces ib0,ib1 --output-filename logs --jsrun -prefix-timestamp"),
            "--comm-interface ib0,ib1 --output-dir logs --launcher jsrun --prefix-timestamp");
}

TEST(Horovodrun, LevelsOfTheLog) {
  EXPECT_EQ(ours("--log-level WARNING"), "--log-level warn");
  EXPECT_EQ(ours("--log-level TRACE"), "--log-level debug");
  EXPECT_EQ(ours("--log-level error"), "--log-level error");
  EXPECT_EQ(ours("--log-level=FATAL"), "--log-level error");
}

TEST(Horovodrun, ATimelineIsAFolderOfTraces) {
  const TranslatedCommand command = translated("--timeline-filename out/t.json");
  EXPECT_EQ(join(command.words, " "), "--trace-dir out/t");
  ASSERT_EQ(command.notes.size(), 1u);
  EXPECT_NE(command.notes[0].find("the folder out/t"), std::string::npos);
}

TEST(Horovodrun, WhatChangesNothingIsSaidOnce) {
  const TranslatedCommand command = translated("--cycle-time-ms 2.5 --cache-capacity 100 --cycle-time-ms 3 --gloo");
  EXPECT_TRUE(command.words.empty());
  EXPECT_EQ(command.notes,
            (std::vector<std::string>{"--cycle-time-ms is not needed: nothing waits for a cycle",
                                      "--cache-capacity is not needed: every plan is remembered",
                                      "--gloo changes nothing: shared memory on one machine, MPI between machines"}));
}

TEST(Horovodrun, ValuesAreParsedStrictly) {
  for (const auto* line : {"--fusion-threshold-mb 12MB", "--fusion-threshold-mb -1", "--cycle-time-ms x",
                           "--start-timeout 1.5", "--cache-capacity", "--num-nccl-streams 1x"})
    EXPECT_NE(complaint([&] { translated(line); }), "no error") << line;
}

TEST(Horovodrun, WhatThereIsNotIsRefusedWithWhatThereIs) {
  EXPECT_NE(complaint([] { translated("--min-np 2"); }).find("--min-np: there is no elastic mode: --restart N"),
            std::string::npos);
  EXPECT_NE(complaint([] { translated("-p 2222"); }).find("~/.ssh/config"), std::string::npos);
}

TEST(Horovodrun, WhichFlagsHaveValues) {
  EXPECT_EQ(horovodrun_takes_value("--cycle-time-ms"), true);
  EXPECT_EQ(horovodrun_takes_value("--autotune"), false);
  EXPECT_EQ(horovodrun_takes_value("--bind"), std::nullopt);
}

TEST(HorovodConfig, BecomesFlags) {
  const auto words = parse_horovod_config(
      "---\n# as in its documentation\nverbose: true\nparams:\n    fusion_threshold_mb: 32   # small\n"
      "    hierarchical_allreduce: False\nautotune:\n  enabled: on\n  log_file: \"a # b.csv\"\nlogging:\n  level: "
      "'INFO'\n",
      "c.yaml");
  EXPECT_EQ(words, (std::vector<std::string>{"--verbose", "--fusion-threshold-mb=32", "--no-hierarchical-allreduce",
                                             "--autotune", "--autotune-log-file=a # b.csv", "--log-level=INFO"}));
  EXPECT_EQ(join(from_horovodrun(words).words, " "),
            "--verbose --comm-fusion-bytes 32MiB --comm-autotune true --comm-autotune-file a # b.csv --log-level info");
}

TEST(HorovodConfig, WrongOnesAreNamedWithTheirLine) {
  const auto wrong = [](const char* text) { return complaint([&] { parse_horovod_config(text, "c.yaml"); }); };
  EXPECT_EQ(wrong("params:\n  fusion_treshold_mb: 32\n"),
            "c.yaml:2: horovodrun has no 'params.fusion_treshold_mb'; did you mean params.fusion_threshold_mb?");
  EXPECT_EQ(wrong("autotune:\n  enabled: maybe\n"), "c.yaml:2: 'maybe' is neither true nor false");
  EXPECT_EQ(wrong("params:\n  cycle_time_ms:\n"), "c.yaml:2: params.cycle_time_ms has no value");
  EXPECT_EQ(wrong("params:\n    cycle_time_ms: 1\n  cache_capacity: 2\n"),
            "c.yaml:3: the indentation of 'cache_capacity' matches no line above it");
  EXPECT_EQ(wrong("  verbose: true\n"), "c.yaml:1: the indentation of 'verbose' matches no line above it");
  EXPECT_EQ(wrong("params:\n\tcycle_time_ms: 1\n"), "c.yaml:2: YAML is indented with spaces, not tabs");
  EXPECT_EQ(wrong("- verbose\n"), "c.yaml:1: '- verbose' is not of the form 'key: value'");
  EXPECT_EQ(wrong("params: {a: 1}\n"), "c.yaml:1: '{a: 1}' is not a string, number or boolean");
  EXPECT_EQ(wrong("logging:\n  level: 'INFO\n"), "c.yaml:2: missing closing quote in 'INFO");
}

}  // namespace
}  // namespace ronde::launch
