#include "ronde/data/pipeline/stored_work.h"

#include "ronde/base/text/units.h"
#include "ronde/data/pipeline/stack.h"

namespace ronde::data {

void StoredWork::read(Run& run) const {
  for (Item& item : run.items) {
    std::int64_t tries = 0;
    if (item.done == 0) read(item, tries);
  }
}

void StoredWork::read(Item& item, std::int64_t& tries) const {
  while (!stop_.stop_requested()) try {
      item.sample = records_.read(item.draw.index);
      return;
    } catch (const Error& error) {
      replace(item, tries, error);
    }
}

void StoredWork::replace(Item& item, std::int64_t& tries, const Error& error) const {
  bad_.add(item.draw.index, records_.where(item.draw.index), error);
  if (++tries >= issuer_.size())
    throw Error::bad_input("none of the {} samples can be read; the last error: {}: {}", issuer_.size(),
                           records_.where(item.draw.index), error.message());
  item.draw = issuer_.draw_at(item.draw.epoch, (item.position + tries) % issuer_.size());
  item.stands_in = true;
}

// Does the work, for another sample if this one is bad.
void StoredWork::with_another(Item& item, const Prepare& prepare, const std::function<void()>& work) const {
  for (std::int64_t tries = 0; !stop_.stop_requested();) try {
      work();
      return;
    } catch (const Error& error) {
      replace(item, tries, error);
      read(item, tries);
      if (prepare) prepare(item);
    }
}

void StoredWork::decode(const Decoder& decoder, Run& run, const Prepare& prepare) const {
  const Batch& batch = *run.group->batch;
  for (std::int64_t i = 0; i < run.size(); ++i) {
    Item& item = run.items[static_cast<std::size_t>(i)];
    with_another(item, prepare, [&] {
      const auto scratch = scratch_for(decoder, item, scratch_, stop_);
      decoder.decode(item.sample, item.draw, batch.sample(run.slot + i));
    });
    item.sample = {};
  }
  run.reservation.release();
}

Sample StoredWork::decoded(const Decoder& decoder, Item& item, const Prepare& prepare) const {
  Sample sample;
  with_another(item, prepare, [&] {
    const auto scratch = scratch_for(decoder, item, scratch_, stop_);
    sample = decode_sample(decoder, item.sample, item.draw);
  });
  return sample;
}

Budget::Reservation scratch_for(const Decoder& decoder, const Item& item, Budget& scratch,
                                const std::stop_token& stop) {
  const std::size_t bytes = decoder.scratch_bytes(item.sample, item.draw);
  if (bytes > scratch.limit())
    throw Error::bad_input("needs {} to decode, but data.memory leaves {} for that", format_bytes(bytes),
                           format_bytes(scratch.limit()));
  // Who waits here waits for others that decode, and they wait for nobody.
  auto reservation = scratch.acquire(bytes, stop);
  return reservation ? std::move(*reservation) : Budget::Reservation();
}

}  // namespace ronde::data
