#include <cstdio>

#include <ronde/base/error.h>
#include <ronde/base/settings/settings.h>
#include <ronde/base/text/units.h>
#include <ronde/base/version.h>

int main() {
  try {
    const auto settings = ronde::Settings::load(ronde::Environment::of_process(), {{"trace.bytes", "2MiB"}});
    std::printf("ronde %s records into %s\n", ronde::version().data(),
                ronde::format_bytes(settings.get<"trace.bytes">()).c_str());
    return 0;
  } catch (const ronde::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  }
}
