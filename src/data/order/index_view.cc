#include "ronde/data/order/index_view.h"

#include <algorithm>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/data/order/chunk_order.h"
#include "ronde/data/order/order.h"

namespace ronde::data {

IndexView IndexView::with(Step step, std::int64_t size) const {
  IndexView view = *this;
  view.steps_.push_back(std::move(step));
  view.size_ = size;
  return view;
}

IndexView IndexView::shuffled(std::uint64_t seed) const {
  return with(
      [seed, size = size_](std::int64_t epoch) -> Lookup {
        return [order = Order(size, seed, epoch)](std::int64_t position) { return order[position]; };
      },
      size_);
}

IndexView IndexView::shuffled_chunks(std::vector<Range> chunks, std::int64_t window, std::uint64_t seed) const {
  return with(
      [chunks = std::move(chunks), window, seed](std::int64_t epoch) -> Lookup {
        auto order = std::make_shared<const ChunkOrder>(chunks, window, seed, epoch);
        return [order = std::move(order)](std::int64_t position) { return (*order)[position]; };
      },
      size_);
}

IndexView IndexView::part(Range places) const {
  const std::int64_t begin = std::clamp<std::int64_t>(places.begin, 0, size_);
  const std::int64_t end = std::clamp<std::int64_t>(places.end, begin, size_);
  return with([begin](std::int64_t) -> Lookup { return [begin](std::int64_t position) { return begin + position; }; },
              end - begin);
}

IndexView IndexView::every(int rank, int ranks) const {
  if (ranks < 1 || rank < 0 || rank >= ranks)
    throw Error::bad_input("rank {} is out of range for {} ranks", rank, ranks);
  return with(
      [rank, ranks](std::int64_t) -> Lookup {
        return [rank, ranks](std::int64_t position) { return position * ranks + rank; };
      },
      (size_ - rank + ranks - 1) / ranks);
}

IndexView IndexView::chosen(std::vector<std::int64_t> places) const {
  const auto size = std::ssize(places);
  auto kept = std::make_shared<const std::vector<std::int64_t>>(std::move(places));
  return with(
      [kept](std::int64_t) -> Lookup {
        return [kept](std::int64_t position) { return (*kept)[static_cast<std::size_t>(position)]; };
      },
      size);
}

IndexView IndexView::mapped(Lookup place) const {
  return with([place = std::move(place)](std::int64_t) { return place; }, size_);
}

IndexView::Lookup IndexView::epoch(std::int64_t number) const {
  std::vector<Lookup> lookups;
  for (const Step& step : steps_) lookups.push_back(step(number));
  return [lookups = std::move(lookups)](std::int64_t position) {
    for (auto lookup = lookups.rbegin(); lookup != lookups.rend(); ++lookup) position = (*lookup)(position);
    return position;
  };
}

}  // namespace ronde::data
