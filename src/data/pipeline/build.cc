#include "ronde/data/pipeline/build.h"

#include <algorithm>
#include <utility>

#include "ronde/base/error.h"
#include "ronde/base/text/text.h"
#include "ronde/data/dataset.h"
#include "ronde/data/order/chunk_order.h"
#include "ronde/data/pipeline/device_batch.h"
#include "ronde/data/pipeline/items.h"
#include "ronde/data/pipeline/split_by_key.h"
#include "ronde/data/pipeline/stack.h"
#include "ronde/data/pipeline/streams.h"

namespace ronde::data {
namespace {

constexpr std::size_t kRoomForAll = std::size_t{1} << 20;  // runs: it is batches and bytes that limit them

PipelineOptions with_ahead(PipelineOptions options, const StepPlan& plan) {
  if (options.ahead == 0) options.ahead = plan.ahead.value_or(1);
  return options;
}

const steps::MapOptions* options_of(const Step& step) {
  if (const auto* map = std::get_if<steps::Map>(&step)) return &map->options;
  if (const auto* decode = std::get_if<steps::Decode>(&step)) return &decode->options;
  return nullptr;
}

template <class... Kinds>
bool is_any_of(const Step& step) {
  return (std::holds_alternative<Kinds>(step) || ...);
}

// Into how many parts the memory goes: for samples by index, for samples behind each gate, and for the datasets inside.
int memory_parts(const Origin& origin, const StepPlan& plan) {
  const auto opening = static_cast<int>(std::ranges::count_if(plan.rest, is_any_of<steps::FlatMap, steps::Interleave>));
  const auto unbatches = static_cast<int>(std::ranges::count_if(plan.rest, is_any_of<steps::Unbatch>));
  const int first = origin.open ? 2 : 1;  // samples by index, or the gate of a generator; and datasets inside it
  return first + 2 * opening + unbatches;
}

// What the steps before a cache make of a sample, as far as they say.
std::string text_of(const std::vector<Step>& each, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += fmt::format(" {}", options_of(each[i]) ? options_of(each[i])->name : "cache");
    if (const auto* decode = std::get_if<steps::Decode>(&each[i])) {
      const SampleKind kind = decode->decoder->kind();
      text += fmt::format(" {}x{}x{} {} {}", kind.channels, kind.height, kind.width, name(kind.target),
                          kind.layout == Layout::ChannelsLast);
    }
  }
  return text;
}

// What a step has made of the samples behind a gate: batches are there once, samples will be in a batch as well.
void settle(Run& run, Gate& gate) {
  std::size_t bytes = 0;
  for (const Item& item : run.items) bytes += item.sample.bytes();
  run.place.resize(run.group ? bytes : 2 * bytes);
  if (!run.group) gate.expect(2 * bytes);
}

}  // namespace

PipelineBuilder::PipelineBuilder(const Origin& origin, const std::vector<Step>& steps, const PipelineOptions& options,
                                 const Choice& choice)
    : origin_(origin),
      plan_(make_plan(steps, origin.records != nullptr)),
      view_(make_view()),
      choice_(choice),
      start_(choice.start.value_or(Position{choice.only_epoch.value_or(0), 0, plan_.seed.value_or(0)})),
      position_(start_),
      epoch_(start_.epoch),
      bad_(options.skip_bad, view_.size(), options.say),
      engine_(with_ahead(options, plan_), memory_parts(origin, plan_), choice.all) {
  if (plan_.seed && start_.seed != *plan_.seed)
    throw Error::bad_input("cannot continue from {}: the seed of this order is {}", to_text(start_), *plan_.seed);
  if (origin_.records)
    begin_by_index();
  else
    begin_stream();
  add_rest();
}

std::optional<Sample> PipelineBuilder::next() {
  while (at_ == run_.items.size()) {
    if (run_.failure) std::rethrow_exception(run_.failure);
    run_ = {};  // gives its memory and its slot back before it is waited for the next
    at_ = 0;
    auto run = engine_.next();
    if (!run) return {};
    run_ = std::move(*run);
    if (run_.group && run_.group->batch) seal(run_);
  }
  Item& item = run_.items[at_++];
  note_position(item);
  Sample sample = std::move(item.sample);
  // Inside of another pipeline, the memory counts as ours until that one has room for it.
  if (at_ == run_.items.size() && !run_.failure && !choice_.all) {
    run_ = {};
    at_ = 0;
  }
  return sample;
}

std::optional<Batch> PipelineBuilder::next_batch() {
  if (!in_place() || !plan_.rest.empty())
    throw Error::bad_input(
        "next_batch() needs batches that a decoder fills: a decoder as the last step on samples, and after batch "
        "nothing but shard, take, skip, repeat and prefetch");
  auto run = engine_.next();
  if (!run) return {};
  position_ = run->group->facts.after;
  epoch_ = run->group->facts.epoch;
  Batch batch = std::move(*run->group->batch);
  batch.mark_filled();
  for (std::int64_t i = 0; i < run->size(); ++i)
    if (run->items[static_cast<std::size_t>(i)].stands_in) batch.facts_.stand_ins.push_back(i);
  return batch;
}

void PipelineBuilder::note_position(const Item& item) {
  if (run_.group && run_.closes) {
    position_ = run_.group->facts.after;
    epoch_ = run_.group->facts.epoch;
    return;
  }
  if (plan_.rest.empty() && origin_.records)
    position_ = {item.draw.epoch, item.position + 1, start_.seed};
  else
    position_ = {item.draw.epoch, (item.draw.epoch == position_.epoch ? position_.position : 0) + 1, start_.seed};
  epoch_ = item.draw.epoch;
}

bool PipelineBuilder::seekable() const {
  return origin_.records && std::ranges::all_of(plan_.rest, [](const Step& step) {
           return std::holds_alternative<steps::MapBatch>(step) || std::holds_alternative<steps::ToDevice>(step);
         });
}

std::int64_t PipelineBuilder::end_epoch() const {
  return choice_.only_epoch ? *choice_.only_epoch + 1 : plan_.epochs;
}

// --- what comes by index

IndexView PipelineBuilder::make_view() const {
  if (!origin_.records) return IndexView(0);
  IndexView view(origin_.records->size());
  for (const Step& step : plan_.order) {
    if (const auto* select = std::get_if<steps::Select>(&step)) view = IndexView(select->samples).mapped(select->index);
    if (const auto* shuffle = std::get_if<steps::Shuffle>(&step)) view = view.shuffled(shuffle->seed);
    if (const auto* chunks = std::get_if<steps::ShuffleChunks>(&step)) {
      std::optional<std::vector<Range>> left = origin_.records->chunks();
      if (&step != &plan_.order.front()) left = chunks_of_places(*left, view.size(), view.epoch(0));
      view = left ? view.shuffled_chunks(*std::move(left), chunks->window, chunks->seed) : view.shuffled(chunks->seed);
    }
    if (const auto* split = std::get_if<steps::SplitOff>(&step))
      view = view.chosen(places_by_key(*origin_.records, view, *split));
    if (const auto* take = std::get_if<steps::Take>(&step)) view = view.part({0, take->samples});
    if (const auto* skip = std::get_if<steps::Skip>(&step)) view = view.part({skip->samples, view.size()});
    if (const auto* shard = std::get_if<steps::Shard>(&step)) view = view.every(shard->rank, shard->ranks);
  }
  for (const Step& step : plan_.order_of_batches) {
    const auto samples = [&](std::int64_t batches) { return std::min(batches, view.size()) * plan_.batch->samples; };
    if (const auto* take = std::get_if<steps::Take>(&step)) view = view.part({0, samples(take->samples)});
    if (const auto* skip = std::get_if<steps::Skip>(&step)) view = view.part({samples(skip->samples), view.size()});
  }
  return view;
}

const Decoder* PipelineBuilder::in_place() const {
  if (!plan_.batch || plan_.each.empty()) return nullptr;
  const auto* decode = std::get_if<steps::Decode>(&plan_.each.back());
  return decode ? decode->decoder.get() : nullptr;
}

void PipelineBuilder::begin_by_index() {
  IssuerOptions issuing{.name = origin_.name, .view = view_};
  issuing.draw_seed = plan_.draw_seed;
  issuing.start = seekable() ? start_ : Position{start_.epoch, 0, start_.seed};
  issuing.end_epoch = end_epoch();
  issuing.bytes = [records = origin_.records](std::int64_t index) { return records->bytes(index); };
  const std::size_t each = origin_.records->size() > 0 ? origin_.records->bytes(0) : 0;
  std::int64_t mine = 0;
  if (plan_.batch) {
    issuing.batches = BatchPlan{.samples = issuing.view.size(),
                                .batch = plan_.batch->samples,
                                .keep_short = plan_.batch->last == steps::Last::Keep};
    if (plan_.part) {
      issuing.rank = plan_.part->rank;
      issuing.ranks = plan_.part->ranks;
    }
    mine = share({0, plan_.batch->samples}, 0, issuing.ranks).size();
  }
  if (const Decoder* decoder = in_place()) {
    issuing.kind = decoder->kind();
    issuing.filled_once = decoder->filled_once();
  } else {
    issuing.measured = true;
  }
  issuing.device = engine_.options().device;
  for (const Step& step : plan_.rest)
    if (const auto* device = std::get_if<steps::ToDevice>(&step)) issuing.device = device->device;
  issuing.length = run_length(each > 0 || !issuing.kind ? each : issuing.kind->bytes(), mine, engine_.threads());
  Issuer& issuer = engine_.begin(std::move(issuing));
  work_ = std::make_unique<StoredWork>(*origin_.records, issuer, bad_, engine_.scratch(), engine_.stop());
  add_each();
  if (!plan_.batch) return;
  engine_.wrap([](auto last) { return std::make_unique<Collect>(std::move(last)); });
  if (!in_place())
    add_stack(plan_.batch->pad);
  else if (!plan_.rest.empty())  // otherwise next() seals it, and next_batch() need not
    engine_.wrap([](auto last) { return std::make_unique<Sealed>(std::move(last)); });
}

// Steps on samples share a stage, so that a sample is handed on once; those that ask for threads of their own get one.
void PipelineBuilder::add_each() {
  for (std::size_t i = 0; i < plan_.each.size(); ++i) {
    const auto* cache = std::get_if<steps::Cache>(&plan_.each[i]);
    caches_.push_back(cache ? make_cache(*cache, *origin_.records, text_of(plan_.each, i)) : nullptr);
  }
  const bool any_cache = std::ranges::any_of(caches_, [](const auto& cache) { return cache != nullptr; });
  if (!origin_.made || any_cache) add_read();
  const auto room = 4 * static_cast<std::size_t>(engine_.threads()) + 4;
  for (std::size_t first = 0, last = 0; first < plan_.each.size(); first = last) {
    const auto* options = options_of(plan_.each[first]);
    const int fixed = options ? options->threads : 0;
    bool ordered = !options || options->ordered;
    std::vector<std::string> names;
    for (last = first; last < plan_.each.size(); ++last) {
      const auto* one = options_of(plan_.each[last]);
      if (last > first && one && one->threads != fixed) break;
      ordered = ordered && (!one || one->ordered);
      names.push_back(one ? one->name : "cache");
    }
    add_work(
        {.name = join(names, "+"),
         .ordered = ordered || plan_.batch,
         .threads = engine_.threads(),
         .room = plan_.batch ? kRoomForAll : 64 * room,
         .whole_batches = plan_.batch && last == plan_.each.size()},
        [this, first, last](Run& run) { work_on_each(first, last, run); }, fixed);
  }
}

// Also looks into the caches, from the last one on.
void PipelineBuilder::add_read() {
  add_work({.name = "read", .waits = true, .room = read_room(engine_.threads())}, [this](Run& run) {
    for (Item& item : run.items)
      for (std::size_t i = caches_.size(); i-- > 0 && item.done == 0;)
        if (auto kept = caches_[i] ? caches_[i]->find(item.draw.index) : std::nullopt) {
          item.sample = std::move(*kept);
          item.done = static_cast<int>(i) + 1;
        }
    work_->read(run);
    if (plan_.each.empty()) work_on_each(0, 0, run);
  });
}

void PipelineBuilder::work_on_each(std::size_t first, std::size_t last, Run& run) {
  std::size_t before = 0, after = 0;
  const bool decodes_in_place = run.group && run.group->batch && last == plan_.each.size();
  const std::size_t end = decodes_in_place ? last - 1 : last;
  for (std::size_t i = 0; i < run.items.size(); ++i) try {
      Item& item = run.items[i];
      before += item.sample.bytes();
      for (std::size_t step = first; step < end; ++step) take_step(step, item);
      after += item.sample.bytes();
    } catch (...) {
      if (run.group) throw;
      run.items.resize(i);  // those before it are good
      run.failure = std::current_exception();
    }
  if (decodes_in_place)
    work_->decode(*std::get<steps::Decode>(plan_.each.back()).decoder, run, steps_before(plan_.each.size() - 1));
  else
    engine_.issuer()->settle(run, before, after);
}

void PipelineBuilder::take_step(std::size_t number, Item& item) {
  if (item.done > static_cast<int>(number) || engine_.stop().stop_requested()) return;
  const Step& step = plan_.each[number];
  if (const auto* map = std::get_if<steps::Map>(&step))
    item.sample = map->function(std::move(item.sample), item.draw);
  else if (const auto* decode = std::get_if<steps::Decode>(&step))
    item.sample = work_->decoded(*decode->decoder, item, steps_before(number));
  else if (caches_[number] && !item.sample.empty())
    caches_[number]->put(item.draw.index, item.sample);
}

// What a sample that stands in for another has to go through.
StoredWork::Prepare PipelineBuilder::steps_before(std::size_t number) {
  return [this, number](Item& item) {
    item.done = 0;
    for (std::size_t step = 0; step < number; ++step) take_step(step, item);
  };
}

// --- what comes one after the other

void PipelineBuilder::begin_stream() {
  auto restart = origin_.restart;
  if (origin_.open)
    restart = [open = origin_.open, inside = inside(static_cast<std::size_t>(std::max(origin_.inside, 1)))](
                  std::int64_t epoch) { return open(epoch, inside); };
  gate_ = &new_gate();
  engine_.begin_with(single_runs(
      entered(generated(std::move(restart), plan_.draw_seed, start_.epoch, end_epoch()), *gate_, engine_.stop())));
}

// For what comes in from here on. Decoders say how large samples become.
Gate& PipelineBuilder::new_gate() {
  Gate& gate = engine_.add_gate();
  for (std::size_t i = rest_at_; i < plan_.rest.size(); ++i)
    if (const auto* decode = std::get_if<steps::Decode>(&plan_.rest[i]))
      gate.expect(2 * decode->decoder->kind().bytes());
  return gate;
}

// Each of so many datasets gets the same share of one part of the memory.
NestedOptions PipelineBuilder::inside(std::size_t datasets) {
  NestedOptions inside{.options = engine_.options(), .all = &engine_.all()};
  inside.options.memory = engine_.budget().limit() / datasets;
  inside.options.threads = std::max(1, engine_.threads() / static_cast<int>(datasets));
  inside.options.ahead = 0;
  return inside;
}

void PipelineBuilder::add_items(const std::function<Items(Items)>& make) {
  engine_.wrap([&](auto last) { return single_runs(make(flatten(std::move(last), gate_))); });
}

void PipelineBuilder::add_work(StageOptions options, Stage::Work work, int fixed) {
  if (gate_) {
    engine_.wrap([](auto last) { return std::make_unique<Passed>(std::move(last)); });
    work = [work = std::move(work), gate = gate_](Run& run) {
      work(run);
      settle(run, *gate);
    };
  }
  if (choice_.here)
    engine_.wrap([&](auto last) { return std::make_unique<InlineStream>(std::move(last), std::move(work)); });
  else
    engine_.add_stage(std::move(options), std::move(work), fixed);
}

void PipelineBuilder::add_counted(StageOptions options, Stage::Work work, int fixed) {
  if (!gate_) engine_.wrap([&](auto last) { return std::make_unique<Counted>(std::move(last), engine_.budget()); });
  add_work(std::move(options), std::move(work), fixed);
}

void PipelineBuilder::add_rest() {
  // What has been used before is made again and left out, in front of the batches.
  bool to_be_left_out = start_.position > 0 && !seekable();
  const auto leave_out = [&] {
    if (!std::exchange(to_be_left_out, false)) return;
    add_items([this](Items from) { return without_first(std::move(from), start_.epoch, start_.position); });
  };
  for (const Step& step : plan_.rest) {
    if (std::holds_alternative<steps::BatchUp>(step)) leave_out();
    ++rest_at_;
    add_step(step);
  }
  leave_out();
}

void PipelineBuilder::add_step(const Step& step) {
  if (std::holds_alternative<steps::Unbatch>(step))
    add_unbatch();
  else if (const auto* map = std::get_if<steps::Map>(&step))
    add_counted(
        {.name = map->options.name, .ordered = map->options.ordered, .threads = engine_.threads(), .room = 64},
        [function = map->function](Run& run) {
          for (Item& item : run.items) item.sample = function(std::move(item.sample), item.draw);
        },
        map->options.threads);
  else if (const auto* decode = std::get_if<steps::Decode>(&step))
    add_counted(
        {.name = decode->options.name, .ordered = decode->options.ordered, .threads = engine_.threads(), .room = 64},
        [this, decoder = decode->decoder](Run& run) {
          for (Item& item : run.items) {
            const auto scratch = scratch_for(*decoder, item, engine_.scratch(), engine_.stop());
            item.sample = decode_sample(*decoder, item.sample, item.draw);
          }
        },
        decode->options.threads);
  else if (const auto* map_batch = std::get_if<steps::MapBatch>(&step))
    add_counted(
        {.name = map_batch->options.name, .threads = 1, .room = 4},
        [function = map_batch->function](Run& run) {
          Item& item = run.items.front();
          item.sample = function(std::move(item.sample));
        },
        map_batch->options.threads);
  else if (const auto* batch = std::get_if<steps::BatchUp>(&step)) {
    engine_.wrap([&](auto last) { return batched(flatten(std::move(last), gate_), *batch, start_); });
    add_stack(batch->pad);
  } else if (const auto* device = std::get_if<steps::ToDevice>(&step))
    add_to_device(device->device);
  else
    add_item_step(step);
}

void PipelineBuilder::add_item_step(const Step& step) {
  if (is_any_of<steps::FlatMap, steps::Interleave>(step)) return add_datasets(step);
  add_items([&](Items from) -> Items {
    if (const auto* buffer = std::get_if<steps::ShuffleBuffer>(&step))
      return shuffled(std::move(from), buffer->samples, buffer->seed);
    if (const auto* filter = std::get_if<steps::Filter>(&step)) return filtered(std::move(from), filter->keep);
    if (const auto* take = std::get_if<steps::Take>(&step))
      return taken(std::move(from), take->samples, end_epoch() - 1);
    if (const auto* skip = std::get_if<steps::Skip>(&step)) return skipped(std::move(from), skip->samples);
    if (const auto* shard = std::get_if<steps::Shard>(&step))
      return sharded(std::move(from), shard->rank, shard->ranks);
    throw Error(Error::Kind::Bug, fmt::format("step {} was not expected on a stream", name(step)));
  });
}

void PipelineBuilder::add_stack(bool pad) {
  auto none = std::make_shared<NoSamples>();
  add_counted({.name = "batch", .threads = 1, .room = 4}, [pad, none](Run& run) {
    Item whole{.draw = {.epoch = run.group->facts.epoch}};
    whole.sample = run.items.empty() ? none->like_before() : stack(run.items, pad);
    if (!run.items.empty()) none->remember(whole.sample);
    run.items.clear();
    run.items.push_back(std::move(whole));
    run.reservation.shrink(run.items.front().sample.bytes());
  });
}

void PipelineBuilder::add_to_device(int device) {
  if (device < 0) return;
  auto copier = std::make_shared<DeviceCopier>(device);
  add_work(
      {.name = "to device", .room = 1},
      [copier](Run& run) { run.items.front().sample = copier->copy(run.items.front().sample); }, 1);
}

// Samples have memory of their own again, and come in by another gate.
void PipelineBuilder::add_unbatch() {
  Gate& gate = new_gate();
  engine_.wrap(
      [&](auto last) { return single_runs(entered(unbatched(std::move(last), gate_), gate, engine_.stop())); });
  gate_ = &gate;
}

// What comes out of the datasets inside comes in by another gate.
void PipelineBuilder::add_datasets(const Step& step) {
  const auto* several = std::get_if<steps::Interleave>(&step);
  const std::size_t cycle = several ? several->cycle : 1;
  OpenInner open = opened(several ? several->function : std::get<steps::FlatMap>(step).function, cycle);
  Gate& gate = new_gate();
  add_items(
      [&](Items from) { return entered(interleaved(std::move(from), std::move(open), cycle), gate, engine_.stop()); });
  gate_ = &gate;
}

OpenInner PipelineBuilder::opened(const std::function<Dataset(const Sample&)>& function, std::size_t cycle) {
  return [function, inside = inside(cycle)](const Item& outer) -> NextSample {
    const Dataset inner = function(outer.sample);
    auto builder =
        std::make_shared<PipelineBuilder>(inner.origin(), inner.steps(), inside.options,
                                          Choice{.only_epoch = outer.draw.epoch, .here = true, .all = inside.all});
    return [builder] { return builder->next(); };
  };
}

}  // namespace ronde::data
