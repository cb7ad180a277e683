#include "ronde/launch/stage/unpack.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <thread>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/launch/process/spawn.h"
#include "ronde/launch/run/outcome.h"

namespace ronde::launch::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBuffer = 1 << 20;

Program make_program(const Unpacker& unpacker, const fs::path& source, const fs::path& folder,
                     const Environment& environment) {
  Program program{.path = "", .arguments = {}, .environment = environment.all()};
  for (const std::string& name : {unpacker.needs, unpacker.command.front()}) {
    if (name.empty()) continue;
    try {
      program.path = find_program(name, environment);
    } catch (const Error&) {
      throw Error::bad_input("{} is needed to unpack {} but is not installed", name, source.string());
    }
  }
  const std::vector<NamedPath> values{{"", folder}}, sources{{"", source}};
  for (const std::string& word : unpacker.command)
    program.arguments.push_back(substitute(substitute(word, "folder", values), "source", sources));
  program.environment.insert_or_assign("LC_ALL", "C");  // its words stand in our sentence
  return program;
}

// Feeds the file to the program. A program that ends early makes the pipe break: its own words then say why.
void feed(int to, const fs::path& source, Progress& progress) {
  const FileDescriptor in(open(source.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in) throw Error::system(errno, "cannot read {}", source.string());
  std::vector<char> buffer(kBuffer);
  while (!progress.stop) {
    const ssize_t got = read(in.get(), buffer.data(), buffer.size());
    if (got < 0) throw Error::system(errno, "cannot read {}", source.string());
    if (got == 0) return;
    for (ssize_t sent = 0; sent < got;) {
      const ssize_t written = write(to, buffer.data() + sent, static_cast<std::size_t>(got - sent));
      if (written < 0) return;
      sent += written;
    }
    progress.done += static_cast<std::uint64_t>(got);
  }
}

// Its last line, which is where such programs say what is wrong.
std::string last_words(int file) {
  std::string text(4096, ' ');
  const off_t size = lseek(file, 0, SEEK_END);
  const ssize_t got = pread(file, text.data(), text.size(), std::max<off_t>(0, size - static_cast<off_t>(text.size())));
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  std::string words;
  for (const std::string_view line : split(trim(text), '\n'))
    if (line.find("Exiting with failure status") == std::string_view::npos && !line.empty()) words = trim(line);
  return words;
}

Outcome wait_for(pid_t pid, Progress& progress) {
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (progress.stop) kill(-pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return Outcome::from_status(status);
}

}  // namespace

void unpack(const Unpacker& unpacker, const fs::path& source, const fs::path& folder, const Environment& environment,
            const Signals& signals, Progress& progress) {
  const Program program = make_program(unpacker, source, folder, environment);
  const FileDescriptor null = open_null();
  const FileDescriptor words(memfd_create("words", MFD_CLOEXEC));  // not a pipe: nobody reads while it runs
  if (!words) throw Error::system(errno, "cannot store the output of {}", unpacker.command.front());
  Pipe input = Pipe::make();
  const pid_t pid =
      start_process(program, {unpacker.reads_input ? input.read.get() : null.get(), null.get(), words.get()}, signals);
  input.read.close();
  std::exception_ptr failure;
  // Another thread feeds, for a program that hangs must not keep us from stopping it.
  std::jthread feeder([&] {
    try {
      if (unpacker.reads_input) feed(input.write.get(), source, progress);
    } catch (...) {
      failure = std::current_exception();
      progress.stop = true;
    }
    input.write.close();
  });
  const Outcome outcome = wait_for(pid, progress);
  feeder.join();
  if (failure) std::rethrow_exception(failure);
  if (!outcome.failed() || progress.stop) return;
  const std::string said = last_words(words.get());
  throw Error(Error::Kind::System, fmt::format("cannot unpack {} to {}: {}", source.string(), folder.string(),
                                               said.empty() ? describe(outcome) : said));
}

std::uint64_t least_unpacked_bytes(const fs::path& source) {
  std::error_code failure;
  const auto size = fs::file_size(source, failure);
  return failure ? 0 : size;
}

}  // namespace ronde::launch::detail
