#include <algorithm>
#include <utility>

#include <lmdb.h>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/data/formats/proto/example.h"
#include "ronde/data/formats/proto/lmdb.h"
#include "ronde/data/formats/writers.h"

namespace ronde::data::files {
namespace {

constexpr std::size_t kFirstRoom = std::size_t{64} << 20;  // of the map, which grows
constexpr std::size_t kBatch = std::size_t{32} << 20;      // bytes that are written in one transaction

class LmdbWriter : public RecordWriter {
 public:
  explicit LmdbWriter(const WriterOptions& options) : path_(options.path), classes_(options.classes) {
    std::filesystem::create_directory(path_);
    check(::mdb_env_create(&environment_));
    try {
      check(::mdb_env_set_mapsize(environment_, room_));
      // Nobody else reads half of it, so there is nothing to lock, and one sync at the end is enough.
      check(::mdb_env_open(environment_, path_.c_str(), MDB_NOLOCK | MDB_NOSYNC, 0644));
    } catch (...) {
      ::mdb_env_close(environment_);
      throw;
    }
  }
  ~LmdbWriter() override { ::mdb_env_close(environment_); }
  LmdbWriter(const LmdbWriter&) = delete;
  LmdbWriter& operator=(const LmdbWriter&) = delete;

  Prepared prepare(const Sample& sample, std::string_view key, std::int64_t number) const override {
    const auto most = static_cast<std::size_t>(::mdb_env_get_maxkeysize(environment_));
    if (key.empty() || key.size() > most)
      throw Error::bad_input("the key '{}' has {} bytes; an LMDB key must have 1 to {}", key.substr(0, 60), key.size(),
                             most);
    if (key.starts_with("__")) throw Error::bad_input("the key '{}' begins with '__', which is reserved", key);
    return {.number = number, .key = std::string(key), .sample = {}, .bytes = encode_example(sample)};
  }

  void put(Prepared prepared) override { keep(std::move(prepared.key), std::move(prepared.bytes)); }

  void finish() override {
    if (!classes_.empty()) keep(kLmdbClasses, join(classes_, "\n"));
    flush();
    check(::mdb_env_sync(environment_, 1));
  }

 private:
  void check(int code) const {
    if (code != MDB_SUCCESS)
      throw Error(Error::Kind::System, fmt::format("cannot write {}: {}", path_.string(), ::mdb_strerror(code)));
  }

  void keep(std::string key, std::string value) {
    bytes_ += key.size() + value.size();
    waiting_.emplace_back(std::move(key), std::move(value));
    if (bytes_ >= kBatch) flush();
  }

  void flush() {
    int code = write();
    while (code == MDB_MAP_FULL) {
      room_ *= 2;
      check(::mdb_env_set_mapsize(environment_, room_));
      code = write();
    }
    check(code);
    waiting_.clear();
    bytes_ = 0;
  }

  // All that waits, or nothing.
  int write() {
    MDB_txn* transaction = nullptr;
    MDB_dbi database = 0;
    int code = ::mdb_txn_begin(environment_, nullptr, 0, &transaction);
    if (code != MDB_SUCCESS) return code;
    code = ::mdb_dbi_open(transaction, nullptr, 0, &database);
    std::string twice;
    for (auto& [key, value] : waiting_) {
      if (code != MDB_SUCCESS) break;
      MDB_val name{key.size(), key.data()}, body{value.size(), value.data()};
      code = ::mdb_put(transaction, database, &name, &body, MDB_NOOVERWRITE);
      if (code == MDB_KEYEXIST) twice = key;
    }
    if (code == MDB_SUCCESS) return ::mdb_txn_commit(transaction);
    ::mdb_txn_abort(transaction);
    if (!twice.empty()) throw Error::bad_input("the key '{}' occurs twice; LMDB keeps one value per key", twice);
    return code;
  }

  const std::filesystem::path path_;
  const std::vector<std::string> classes_;
  MDB_env* environment_ = nullptr;
  std::size_t room_ = kFirstRoom, bytes_ = 0;
  std::vector<std::pair<std::string, std::string>> waiting_;
};

}  // namespace

std::unique_ptr<RecordWriter> make_lmdb_writer(const WriterOptions& options) {
  return std::make_unique<LmdbWriter>(options);
}

}  // namespace ronde::data::files
