#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <lmdb.h>

namespace ronde::data {

// An LMDB in a folder, by the library itself, in two transactions.
inline void write_lmdb(const std::filesystem::path& folder, std::map<std::string, std::string> entries) {
  MDB_env* environment = nullptr;
  ASSERT_EQ(mdb_env_create(&environment), 0);
  ASSERT_EQ(mdb_env_set_mapsize(environment, 64 << 20), 0);
  ASSERT_EQ(mdb_env_open(environment, folder.c_str(), MDB_NOLOCK, 0644), 0);
  for (const bool odd : {false, true}) {
    MDB_txn* transaction = nullptr;
    MDB_dbi database = 0;
    ASSERT_EQ(mdb_txn_begin(environment, nullptr, 0, &transaction), 0);
    ASSERT_EQ(mdb_dbi_open(transaction, nullptr, 0, &database), 0);
    std::size_t i = 0;
    for (auto& [key, value] : entries) {
      if ((i++ % 2 == 1) != odd) continue;
      std::string name = key;
      MDB_val first{name.size(), name.data()}, second{value.size(), value.data()};
      ASSERT_EQ(mdb_put(transaction, database, &first, &second, 0), 0);
    }
    ASSERT_EQ(mdb_txn_commit(transaction), 0);
  }
  mdb_env_close(environment);
}

}  // namespace ronde::data
