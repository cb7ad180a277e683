#include "ronde/data/loader.h"

#include <algorithm>
#include <exception>
#include <stop_token>
#include <thread>
#include <utility>
#include <variant>

#include "ronde/base/clock.h"
#include "ronde/base/error.h"
#include "ronde/base/queue.h"
#include "ronde/base/thread.h"
#include "ronde/data/detail/buffer_pool.h"
#include "ronde/data/order.h"
#include "ronde/trace/span.h"

namespace ronde::data {
namespace {

using Item = std::variant<Batch, std::exception_ptr>;

void check(const Source& source, const LoaderOptions& options) {
  if (options.batch < 1) throw Error::bad_input("a batch of {} samples cannot be", options.batch);
  if (options.ranks < 1 || options.rank < 0 || options.rank >= options.ranks)
    throw Error::bad_input("there is no rank {} among {}", options.rank, options.ranks);
  if (options.start.epoch < 0 || options.start.position < 0 || options.start.position > source.size())
    throw Error::bad_input("'{}' with {} samples cannot be read from {}", source.name(), source.size(),
                           to_text(options.start));
  if (!options.keep_short && source.size() < options.batch)
    throw Error::bad_input("'{}' has {} samples, fewer than one batch of {}", source.name(), source.size(),
                           options.batch);
}

}  // namespace

struct Loader::Impl {
  Impl(const Source& from, LoaderOptions chosen)
      : source(from),
        options(std::move(chosen)),
        plan{.samples = source.size(), .batch = options.batch, .keep_short = options.keep_short},
        ready(std::max<std::size_t>(options.ahead, 1)) {}

  // --- the thread of the loader
  void work(const std::stop_token& stop);
  void prepare_epoch(Position& at, const std::stop_token& stop);
  Batch::Facts facts_at(const Position& at) const;
  void fill(Batch& batch, const Order& order, const std::stop_token& stop) const;

  const Source& source;
  const LoaderOptions options;
  const BatchPlan plan;
  const std::shared_ptr<detail::BufferPool> pool = std::make_shared<detail::BufferPool>();
  BoundedQueue<Item> ready;

  // --- whoever calls next()
  std::exception_ptr failure;
  std::chrono::nanoseconds waited{0};

  std::jthread thread;  // last: it uses all of the above
};

void Loader::Impl::work(const std::stop_token& stop) {
  name_this_thread("ronde input");
  const trace::Scope scope(options.recorder, "input");
  try {
    for (Position at = options.start; at.epoch < options.end_epoch && plan.batches() > 0 && !stop.stop_requested();)
      prepare_epoch(at, stop);
  } catch (...) {
    ready.push(std::current_exception());
  }
  ready.close();
}

void Loader::Impl::prepare_epoch(Position& at, const std::stop_token& stop) {
  const Order order(plan.samples, at.seed, at.epoch);
  for (const std::int64_t epoch = at.epoch; at.epoch == epoch && !stop.stop_requested();) {
    const Batch::Facts facts = facts_at(at);
    at = facts.after;
    if (facts.global.size() == 0) continue;  // a position at the very end of its epoch
    trace::Span span("input", "input", {{"samples", facts.local.size()}, {"batch", facts.index}});
    Batch batch(facts, pool);
    fill(batch, order, stop);
    span.end();
    if (!ready.push(Item(std::move(batch)))) return;
  }
}

Batch::Facts Loader::Impl::facts_at(const Position& at) const {
  const Range global = plan.batch_at(at.position);
  const bool last = plan.batch_at(global.end).size() == 0;
  return {.kind = source.kind(),
          .epoch = at.epoch,
          .index = plan.index_of(at.position),
          .global = global,
          .local = share(global, options.rank, options.ranks),
          .after = last ? Position{at.epoch + 1, 0, at.seed} : Position{at.epoch, global.end, at.seed},
          .ends_epoch = last};
}

void Loader::Impl::fill(Batch& batch, const Order& order, const std::stop_token& stop) const {
  const Range local = batch.facts().local;
  const auto count = static_cast<std::size_t>(local.size());
  std::size_t& filled = batch.buffer_->filled;
  if (source.filled_once() && filled >= count) return;
  filled = 0;
  for (std::size_t i = 0; i < count && !stop.stop_requested(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    const std::int64_t place = local.begin + number;
    source.read(options.shuffle ? order[place] : place, batch.facts().epoch, batch.sample(number));
    filled = i + 1;
  }
}

Loader::Loader(const Source& source, LoaderOptions options)
    : impl_((check(source, options), std::make_unique<Impl>(source, std::move(options)))) {
  impl_->thread = std::jthread([impl = impl_.get()](const std::stop_token& stop) { impl->work(stop); });
}

Loader::~Loader() {
  impl_->thread.request_stop();
  impl_->ready.close();  // ends a wait for room
}

std::optional<Batch> Loader::next() {
  if (impl_->failure) std::rethrow_exception(impl_->failure);
  const auto since = monotonic_now();
  trace::Span span("wait for input", "input");
  std::optional<Item> item = impl_->ready.pop();
  span.end();
  impl_->waited += monotonic_now() - since;
  if (!item) return {};
  if (auto* failure = std::get_if<std::exception_ptr>(&*item)) {
    impl_->failure = *failure;
    std::rethrow_exception(impl_->failure);
  }
  return std::move(std::get<Batch>(*item));
}

const BatchPlan& Loader::plan() const {
  return impl_->plan;
}

std::chrono::nanoseconds Loader::waited() const {
  return impl_->waited;
}

}  // namespace ronde::data
