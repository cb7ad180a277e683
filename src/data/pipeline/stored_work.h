#pragma once

#include <functional>
#include <stop_token>

#include "ronde/data/pipeline/bad_samples.h"
#include "ronde/data/pipeline/issuer.h"
#include "ronde/data/pipeline/memory/budget.h"
#include "ronde/data/pipeline/run.h"
#include "ronde/data/records.h"

namespace ronde::data {

// Runs that may be read before they are decoded: so many that who reads need not be woken often. It is the budget that
// limits the bytes.
inline std::size_t read_room(int threads) {
  return 16 * (static_cast<std::size_t>(threads) + 1);
}

// The two steps of samples that lie in files: read, then decode into the memory of their batch. Samples that cannot be
// read give way to those after them in the epoch's order, if they may. Safe to call from any thread.
class StoredWork {
 public:
  // REQUIRES: all of them outlive this.
  StoredWork(const Records& records, const Issuer& issuer, BadSamples& bad, Budget& scratch, std::stop_token stop)
      : records_(records), issuer_(issuer), bad_(bad), scratch_(scratch), stop_(std::move(stop)) {}

  using Prepare = std::function<void(Item&)>;  // what a sample goes through before it is decoded

  // FAILS WITH: what Records::read fails with, or BadInput that there are too many bad samples.
  void read(Run& run) const;
  // REQUIRES: the group's memory has the decoder's kind. FAILS WITH: as read(), and as Decoder::decode.
  // `prepare`: for those that stand in.
  void decode(const Decoder& decoder, Run& run, const Prepare& prepare = {}) const;
  // Into arrays of its own. FAILS WITH: as decode().
  Sample decoded(const Decoder& decoder, Item& item, const Prepare& prepare = {}) const;

 private:
  void read(Item& item, std::int64_t& tries) const;
  void with_another(Item& item, const Prepare& prepare, const std::function<void()>& work) const;
  void replace(Item& item, std::int64_t& tries, const Error& error) const;

  const Records& records_;
  const Issuer& issuer_;
  BadSamples& bad_;
  Budget& scratch_;
  const std::stop_token stop_;
};

// Waits for the memory that decoding a sample takes. FAILS WITH: BadInput for more than there is.
Budget::Reservation scratch_for(const Decoder& decoder, const Item& item, Budget& scratch, const std::stop_token& stop);

}  // namespace ronde::data
