#include "ronde/comm/link/shm/mapping.h"

#include <fstream>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ronde/base/error.h"

namespace ronde::comm::detail {
namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;

// A limit as `ulimit` sets it; the one of before comes back at the end.
class Limited {
 public:
  Limited(__rlimit_resource resource, rlim_t bytes) : resource_(resource) {
    getrlimit(resource_, &before_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    set_ = setrlimit(resource_, &limit) == 0;
  }
  ~Limited() { setrlimit(resource_, &before_); }
  Limited(const Limited&) = delete;
  Limited& operator=(const Limited&) = delete;
  bool set() const { return set_; }

 private:
  __rlimit_resource resource_;
  rlimit before_{};
  bool set_ = false;
};

std::size_t address_space_in_use() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

template <class Body>
std::string complaint(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Mapping, ALimitOfFilesIsNamedWithTheSetting) {
  const Limited limit(RLIMIT_FSIZE, kGiB / 2);
  ASSERT_TRUE(limit.set());
  EXPECT_EQ(complaint([] { Mapping::make_file(kGiB); }),
            "cannot reserve 1 GiB of shared memory: files may have at most 512 MiB (ulimit -f); lift that limit with "
            "'ulimit -f unlimited', or lower comm.arena_bytes");
  EXPECT_NO_THROW(Mapping::make_file(kGiB / 2));
}

TEST(Mapping, ALimitOfAddressSpaceIsNamedWithTheSetting) {
  const FileDescriptor file = Mapping::make_file(8 * kGiB);
  const rlim_t most = address_space_in_use() + 2 * kGiB;
  std::string said;
  {
    const Limited limit(RLIMIT_AS, most);
    ASSERT_TRUE(limit.set());
    said = complaint([&] { Mapping::of_file(file.get(), 8 * kGiB); });
    EXPECT_NO_THROW(Mapping::of_file(file.get(), kGiB));
  }
  EXPECT_TRUE(said.starts_with("cannot map 8 GiB of shared memory: a process may have at most ")) << said;
  EXPECT_NE(said.find("(ulimit -v)"), std::string::npos) << said;
  EXPECT_TRUE(said.ends_with("or lower comm.arena_bytes")) << said;
}

}  // namespace
}  // namespace ronde::comm::detail
