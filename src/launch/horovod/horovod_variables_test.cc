#include "ronde/launch/horovod/horovod_variables.h"

#include <gtest/gtest.h>

#include "ronde/launch/process/test_complaint.h"

namespace ronde::launch {
namespace {

// "key=text (origin)" for each setting.
std::vector<std::string> found(const Environment& environment) {
  std::vector<std::string> lines;
  for (const auto& [key, text, origin] : horovod_settings(environment).settings)
    lines.push_back(key + "=" + text + " (" + origin + ")");
  return lines;
}

using Lines = std::vector<std::string>;

TEST(HorovodVariables, BecomeSettings) {
  struct Row {
    const char *name, *value, *key, *text;
  };
  for (const Row& row : {Row{"HOROVOD_FUSION_THRESHOLD", "33554432", "comm.fusion_bytes", "33554432B"},
                         Row{"HOROVOD_FUSION_THRESHOLD", "0", "comm.fusion_bytes", "0B"},
                         Row{"HOROVOD_AUTOTUNE", "1", "comm.autotune", "true"},
                         Row{"HOROVOD_AUTOTUNE", "False", "comm.autotune", "false"},
                         Row{"HOROVOD_AUTOTUNE_LOG", "tune.csv", "comm.autotune_file", "tune.csv"},
                         Row{"HOROVOD_STALL_CHECK_TIME_SECONDS", "20", "comm.stall_warn", "20s"},
                         Row{"HOROVOD_STALL_CHECK_TIME_SECONDS", "0", "comm.stall_warn", "36500d"},
                         Row{"HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", " 90 ", "comm.stall_abort", "90s"},
                         Row{"HOROVOD_GLOO_TIMEOUT_SECONDS", "45", "comm.start_timeout", "45s"},
                         Row{"HOROVOD_START_TIMEOUT", "45", "comm.start_timeout", "45s"},
                         Row{"HOROVOD_GLOO_IFACE", "ib0", "comm.interface", "ib0"},
                         Row{"HOROVOD_TIMELINE", "out/t.json", "trace.dir", "out/t"},
                         Row{"HOROVOD_LOG_LEVEL", "WARNING", "log.level", "warn"},
                         Row{"HOROVOD_LOG_LEVEL", "fatal", "log.level", "error"}}) {
    const Environment environment{{row.name, row.value}};
    EXPECT_EQ(found(environment), (Lines{std::string(row.key) + "=" + row.text + " (" + row.name + ")"}));
    EXPECT_NO_THROW(Settings::load(environment, horovod_settings(environment).settings)) << row.name;
  }
}

TEST(HorovodVariables, TheSettingNamesTheVariableItCameFrom) {
  const Environment environment{{"HOROVOD_FUSION_THRESHOLD", "1048576"}};
  const auto settings = Settings::load(environment, horovod_settings(environment).settings);
  EXPECT_EQ(settings.get<"comm.fusion_bytes">(), 1048576u);
  const auto is_ours = [](const Settings::Entry& entry) { return entry.origin == "HOROVOD_FUSION_THRESHOLD"; };
  EXPECT_EQ(std::ranges::count_if(settings.entries(), is_ours), 1);
  const Environment wrong{{"HOROVOD_LOG_LEVEL", "loud"}};
  EXPECT_NE(complaint([&] { Settings::load(wrong, horovod_settings(wrong).settings); }).find("from HOROVOD_LOG_LEVEL"),
            std::string::npos);
}

TEST(HorovodVariables, OnesOfRondeWin) {
  const Environment environment{{"HOROVOD_FUSION_THRESHOLD", "1048576"}, {"RONDE_COMM_FUSION_BYTES", "2MiB"}};
  EXPECT_EQ(found(environment), Lines{});
  EXPECT_EQ(Settings::load(environment, horovod_settings(environment).settings).get<"comm.fusion_bytes">(), 2u << 20);
}

TEST(HorovodVariables, WhoSwitchesTheStallCheckOffMeansItsTimesToo) {
  const Environment environment{{"HOROVOD_STALL_CHECK_DISABLE", "1"},
                                {"HOROVOD_STALL_CHECK_TIME_SECONDS", "5"},
                                {"HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "9"}};
  const auto settings = Settings::load(environment, horovod_settings(environment).settings);
  EXPECT_GT(settings.get<"comm.stall_warn">(), std::chrono::hours(24));
  EXPECT_EQ(settings.get<"comm.stall_abort">(), std::chrono::nanoseconds(0));
  EXPECT_EQ(found({{"HOROVOD_STALL_CHECK_DISABLE", "0"}}), Lines{});
}

TEST(HorovodVariables, AValueThatIsNoneNamesItsVariable) {
  struct Row {
    const char *name, *value, *advice;
  };
  for (const Row& row :
       {Row{"HOROVOD_FUSION_THRESHOLD", "128MB", "write a whole number"},
        Row{"HOROVOD_FUSION_THRESHOLD", "-1", "write a whole number"}, Row{"HOROVOD_AUTOTUNE", "maybe", "write 1 or 0"},
        Row{"HOROVOD_AUTOTUNE", "2", "write 1 or 0"}, Row{"HOROVOD_CYCLE_TIME", "fast", "write a number"},
        Row{"HOROVOD_CACHE_CAPACITY", "1k", "write a whole number"},
        Row{"HOROVOD_STALL_CHECK_TIME_SECONDS", "60s", "write a whole number"},
        Row{"HOROVOD_STALL_CHECK_DISABLE", "y", "write 1 or 0"},
        Row{"HOROVOD_HIERARCHICAL_ALLREDUCE", "x", "write 1 or 0"}, Row{"HOROVOD_ELASTIC", "x", "write 1 or 0"},
        Row{"HOROVOD_ADASUM_MPI_CHUNK_SIZE", "1.5", "write a whole number"},
        Row{"HOROVOD_NUM_NCCL_STREAMS", "two", "write a whole number"}})
    EXPECT_EQ(complaint([&] { horovod_settings({{row.name, row.value}}); }),
              std::string(row.name) + "=" + row.value + ": " + row.advice);
}

TEST(HorovodVariables, WhatChangesNothingIsSaid) {
  struct Row {
    const char *name, *value, *note;
  };
  for (const Row& row :
       {Row{"HOROVOD_CYCLE_TIME", "0.5", "HOROVOD_CYCLE_TIME is not needed: nothing waits for a cycle"},
        Row{"HOROVOD_CACHE_CAPACITY", "1024", "HOROVOD_CACHE_CAPACITY is not needed: every plan is remembered"},
        Row{"HOROVOD_TORUS_ALLREDUCE", "1",
            "HOROVOD_TORUS_ALLREDUCE is not needed: ranks on one machine always reduce in shared memory first"},
        Row{"HOROVOD_THREAD_AFFINITY", "0,1",
            "HOROVOD_THREAD_AFFINITY changes nothing: --bind keeps a core for communication"},
        Row{"HOROVOD_ELASTIC", "1", "HOROVOD_ELASTIC changes nothing: there is no elastic mode"},
        Row{"HOROVOD_TIMELINE", "DYNAMIC",
            "HOROVOD_TIMELINE=DYNAMIC: nothing is recorded until the program asks for it"},
        Row{"HOROVOD_FUSION_TRESHOLD", "1",
            "HOROVOD_FUSION_TRESHOLD changes nothing: it is not a known Horovod variable; did you mean "
            "HOROVOD_FUSION_THRESHOLD?"}}) {
    const HorovodSettings own = horovod_settings({{row.name, row.value}});
    EXPECT_EQ(own.notes, Lines{row.note});
    EXPECT_TRUE(own.settings.empty()) << row.name;
  }
}

TEST(HorovodVariables, WhatIsNotForUsIsPassedOver) {
  const Environment environment{{"HOROVOD_RANK", "1"},          {"HOROVOD_SIZE", "2"},
                                {"HOROVOD_CROSS_RANK", "0"},    {"HOROVOD_HOSTNAME", "n1"},
                                {"HOROVOD_CONTROLLER", "gloo"}, {"HOROVOD_CPU_OPERATIONS", "gloo"},
                                {"HOROVOD_SECRET_KEY", "x"},    {"HOROVOD_WITH_PYTORCH", "1"},
                                {"HOROVOD_WITHOUT_MXNET", "1"}, {"HOROVOD_NCCL_HOME", "/x"},
                                {"HOROVOD_AUTOTUNE", ""},       {"HOROVOD_HIERARCHICAL_ALLREDUCE", "0"},
                                {"HOROVOD_ELASTIC", "false"},   {"HOROVODX", "1"},
                                {"RONDE_TRACE_BYTES", "2MiB"}};
  const HorovodSettings own = horovod_settings(environment);
  EXPECT_TRUE(own.settings.empty());
  EXPECT_EQ(own.notes, Lines{});
}

// Everything that Horovod's own list of variables for a run has must mean something here, and no row may name a flag
// that is not there.
TEST(HorovodVariables, NoneOfHorovodsOwnIsUnknown) {
  for (const char* name : {"FUSION_THRESHOLD",
                           "CYCLE_TIME",
                           "CACHE_CAPACITY",
                           "HIERARCHICAL_ALLREDUCE",
                           "HIERARCHICAL_ALLGATHER",
                           "TORUS_ALLREDUCE",
                           "AUTOTUNE",
                           "AUTOTUNE_LOG",
                           "AUTOTUNE_WARMUP_SAMPLES",
                           "AUTOTUNE_STEPS_PER_SAMPLE",
                           "AUTOTUNE_BAYES_OPT_MAX_SAMPLES",
                           "AUTOTUNE_GAUSSIAN_PROCESS_NOISE",
                           "TIMELINE",
                           "TIMELINE_MARK_CYCLES",
                           "STALL_CHECK_DISABLE",
                           "STALL_CHECK_TIME_SECONDS",
                           "STALL_SHUTDOWN_TIME_SECONDS",
                           "MPI_THREADS_DISABLE",
                           "NUM_NCCL_STREAMS",
                           "BATCH_D2D_MEMCOPIES",
                           "DISABLE_GROUP_FUSION",
                           "DISABLE_NVTX_RANGES",
                           "ENABLE_ASYNC_COMPLETION",
                           "ENABLE_XLA_OPS",
                           "DYNAMIC_PROCESS_SETS",
                           "ELASTIC",
                           "CCL_CACHE",
                           "ADASUM_MPI_CHUNK_SIZE",
                           "THREAD_AFFINITY",
                           "GLOO_IFACE",
                           "GLOO_TIMEOUT_SECONDS",
                           "LOG_LEVEL",
                           "LOG_HIDE_TIME",
                           "START_TIMEOUT",
                           "ELASTIC_TIMEOUT"}) {
    const HorovodSettings own = horovod_settings({{std::string("HOROVOD_") + name, "1"}});
    EXPECT_GE(own.settings.size() + own.notes.size(), 1u) << name;
    for (const std::string& note : own.notes)
      EXPECT_EQ(note.find("not a known Horovod variable"), std::string::npos) << note;
  }
}

}  // namespace
}  // namespace ronde::launch
