#include "ronde/base/settings/settings.h"

#include <cctype>
#include <set>

#include <gtest/gtest.h>

#include "ronde/base/error.h"

namespace ronde {
namespace {

using namespace std::chrono_literals;

std::string message_of(auto call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    return error.what();
  }
  return "nothing was thrown";
}

TEST(SettingsList, EveryLineIsSound) {
  std::set<std::string> flags, variables;
  std::string_view before;
  for (const Setting& setting : kSettings) {
    EXPECT_LT(before, setting.key) << "keys are in alphabetical order";
    before = setting.key;
    EXPECT_NO_THROW(parse_value(setting, setting.initial)) << setting.key;
    EXPECT_TRUE(setting.help.ends_with('.')) << setting.key;
    EXPECT_TRUE(flags.insert(flag_name(setting)).second) << setting.key;
    EXPECT_TRUE(variables.insert(variable_name(setting)).second) << setting.key;
  }
}

TEST(Setting, NamesDeriveFromTheKey) {
  constexpr Setting kSetting{"comm.fusion_bytes", SettingType::Bytes, "64MiB", "", "Help."};
  EXPECT_EQ(flag_name(kSetting), "--comm-fusion-bytes");
  EXPECT_EQ(variable_name(kSetting), "RONDE_COMM_FUSION_BYTES");
}

TEST(Setting, ReadsEveryType) {
  const auto parse = [](SettingType type, std::string_view text) { return parse_value({"k", type, "", "", ""}, text); };
  EXPECT_EQ(parse(SettingType::Bool, "on"), SettingValue(true));
  EXPECT_EQ(parse(SettingType::Bool, "0"), SettingValue(false));
  EXPECT_EQ(parse(SettingType::Int, "-3"), SettingValue(std::int64_t{-3}));
  EXPECT_EQ(parse(SettingType::Real, "0.5"), SettingValue(0.5));
  EXPECT_EQ(parse(SettingType::Bytes, " 64MiB "), SettingValue(std::uint64_t{64u << 20}));
  EXPECT_EQ(parse(SettingType::Duration, "2ms"), SettingValue(std::chrono::nanoseconds(2ms)));
  EXPECT_EQ(parse(SettingType::Steps, "3..5"), SettingValue(StepWindow{3, 5}));
  EXPECT_EQ(parse(SettingType::Text, " a b "), SettingValue(std::string("a b")));
}

TEST(Setting, RefusesWrongValues) {
  const auto refuse = [](SettingType type, std::string_view range, std::string_view text) {
    return message_of([&] { parse_value({"k", type, "", range, ""}, text); });
  };
  EXPECT_EQ(refuse(SettingType::Bool, "", "maybe"), "'maybe' is neither true nor false");
  EXPECT_EQ(refuse(SettingType::Int, "", "3.5"), "'3.5' is not a whole number");
  EXPECT_EQ(refuse(SettingType::Int, "", ""), "'' is not a whole number");
  EXPECT_EQ(refuse(SettingType::Real, "", "nan"), "'nan' is not a finite number");
  EXPECT_EQ(refuse(SettingType::Int, "1..64", "0"), "'0' is below 1");
  EXPECT_EQ(refuse(SettingType::Int, "1..64", "65"), "'65' is above 64");
  EXPECT_EQ(refuse(SettingType::Bytes, "64KiB..", "1kB"), "'1kB' is below 64KiB");
  EXPECT_EQ(refuse(SettingType::Duration, "..1h", "2h"), "'2h' is above 1h");
  EXPECT_EQ(refuse(SettingType::Steps, "", "5..3"), "'5..3' is an empty range of steps: 5 comes after 3");
  EXPECT_EQ(refuse(SettingType::Choice, "a|b", "c"), "'c' is not one of a, b");
}

TEST(Settings, ALaterSourceWinsAndSaysWhereItCameFrom) {
  Settings settings;
  EXPECT_EQ(settings.get<"trace.bytes">(), 32u << 20);
  settings.read_toml_text("[trace]\nbytes = '1MiB'\nsteps = '1..2'\n", "run.toml");
  EXPECT_EQ(settings.get<"trace.bytes">(), 1u << 20);
  settings.read_environment(Environment{{"RONDE_TRACE_BYTES", "2MiB"}, {"RONDE__RANK", "3"}, {"HOME", "/"}});
  EXPECT_EQ(settings.get<"trace.bytes">(), 2u << 20);

  std::set<std::string> origins;
  for (const auto& entry : settings.entries()) origins.insert(entry.origin);
  EXPECT_EQ(origins, (std::set<std::string>{"RONDE_TRACE_BYTES", "default", "run.toml:3"}));
}

TEST(Settings, AnEmptyFileIsAFile) {
  EXPECT_NO_THROW(Settings::load(Environment{{"RONDE_CONFIG", "/dev/null"}}, {}));
}

TEST(Settings, FlagsBeatTheEnvironment) {
  const auto settings = Settings::load(Environment{{"RONDE_LOG_LEVEL", "debug"}}, {{"log.level", "warn"}});
  EXPECT_EQ(settings.get<"log.level">(), "warn");
}

TEST(Settings, TomlNumbersAndTablesWork) {
  Settings settings;
  settings.read_toml_text("trace.bytes = 2097152\n", "a.toml");
  EXPECT_EQ(settings.get<"trace.bytes">(), 2097152u);
}

TEST(Settings, WrongInputNamesKeyValueAndSource) {
  Settings settings;
  EXPECT_EQ(message_of([&] { settings.read_environment(Environment{{"RONDE_TRACE_BYTES", "128 bananas"}}); }),
            "setting trace.bytes (from RONDE_TRACE_BYTES): '128 bananas' is not a size: unknown unit 'bananas'; use B, "
            "KiB, MiB, GiB, TiB or kB, MB, GB, TB");
  EXPECT_EQ(message_of([&] { settings.read_environment(Environment{{"RONDE_TRACE_BYTE", "1"}}); }),
            "environment variable RONDE_TRACE_BYTE=1: there is no such setting; did you mean RONDE_TRACE_BYTES?");
  EXPECT_EQ(message_of([&] { settings.read_toml_text("[trace]\n\nbyets = 3\n", "run.toml"); }),
            "run.toml:3: there is no setting 'trace.byets'; did you mean trace.bytes?");
  EXPECT_EQ(message_of([&] { settings.read_toml_text("[trace]\nbytes = [1]\n", "run.toml"); }),
            "run.toml:2: 'trace.bytes' must be a string, a number or true/false");
  EXPECT_EQ(message_of([&] { settings.read_toml_text("config = 'b.toml'", "a.toml"); }),
            "a.toml:1: a settings file cannot name another settings file");
  EXPECT_TRUE(
      message_of([&] { settings.read_toml_text("x = = 3", "run.toml"); }).starts_with("run.toml:1: not valid TOML: "));
  EXPECT_EQ(message_of([&] { Settings::load(Environment{}, {{"config", "/no/such.toml"}}); }),
            "settings file /no/such.toml (from --set) cannot be read: No such file or directory");
  EXPECT_EQ(message_of([&] { Settings::load(Environment{{"RONDE_CONFIG", "/"}}, {}); }),
            "settings file / (from RONDE_CONFIG) cannot be read: it is a folder");
}

TEST(Settings, TheDocsPageHasALineForEach) {
  const std::string page = settings_as_markdown();
  for (const Setting& setting : kSettings) EXPECT_NE(page.find("| `" + std::string(setting.key) + "` |"), page.npos);
}

}  // namespace
}  // namespace ronde
