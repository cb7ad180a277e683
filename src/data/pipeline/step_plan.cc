#include "ronde/data/pipeline/step_plan.h"

#include <algorithm>
#include <array>

#include "ronde/base/error.h"

namespace ronde::data {
namespace {

using namespace steps;

template <class... Kinds>
bool is(const Step& step) {
  return (std::holds_alternative<Kinds>(step) || ...);
}

bool on_order(const Step& step) {
  return is<Select, Shuffle, ShuffleChunks, SplitOff, Take, Skip, Shard>(step);
}

void check_counts(const Step& step) {
  if (const auto* batch = std::get_if<BatchUp>(&step); batch && batch->samples < 1)
    throw Error::bad_input("batch({}): the batch size must be at least 1", batch->samples);
  if (const auto* shard = std::get_if<Shard>(&step);
      shard && (shard->ranks < 1 || shard->rank < 0 || shard->rank >= shard->ranks))
    throw Error::bad_input("shard({0}, {1}): rank {0} is out of range for {1} ranks", shard->rank, shard->ranks);
  if (const auto* take = std::get_if<Take>(&step); take && take->samples < 0)
    throw Error::bad_input("take({}): the number must not be negative", take->samples);
  if (const auto* select = std::get_if<Select>(&step); select && select->samples < 0)
    throw Error::bad_input("select({}): the number must not be negative", select->samples);
  if (const auto* skip = std::get_if<Skip>(&step); skip && skip->samples < 0)
    throw Error::bad_input("skip({}): the number must not be negative", skip->samples);
  if (const auto* split = std::get_if<SplitOff>(&step);
      split && !(0 <= split->from && split->from < split->to && split->to <= 100))
    throw Error::bad_input("split({}, {}): give percentages from 0 to 100, the smaller one first", split->from,
                           split->to);
  if (const auto* buffer = std::get_if<ShuffleBuffer>(&step); buffer && buffer->samples < 1)
    throw Error::bad_input("shuffle_buffer({}): the buffer size must be at least 1", buffer->samples);
  if (const auto* chunks = std::get_if<ShuffleChunks>(&step); chunks && chunks->window < 1)
    throw Error::bad_input("shuffle_chunks: the window must be at least 1, got {}", chunks->window);
  if (const auto* interleave = std::get_if<Interleave>(&step); interleave && interleave->cycle < 1)
    throw Error::bad_input("interleave: the number of datasets must be at least 1, got {}", interleave->cycle);
}

void add_order(StepPlan& plan, const Step& step) {
  if (plan.batch) {
    if (const auto* shard = std::get_if<Shard>(&step)) {
      if (plan.part)
        throw Error::bad_input("shard occurs twice after batch: the first one has split the batches already");
      plan.part = *shard;
    } else if (is<Take, Skip>(step)) {
      plan.order_of_batches.push_back(step);
    } else {
      throw Error::bad_input("{} comes after batch, but it works on samples: put it before batch", name(step));
    }
    return;
  }
  if (is<Select>(step) && !plan.order.empty())
    throw Error::bad_input("select must come before the other steps on the order: it names samples as stored");
  if (is<ShuffleChunks>(step) && !std::ranges::all_of(plan.order, is<Select, SplitOff>))
    throw Error::bad_input(
        "shuffle_chunks must come before the other steps that change the order, except select and split: it goes by "
        "the positions of samples in files");
  if (is<SplitOff>(step) && !std::ranges::all_of(plan.order, is<Select, SplitOff>))
    throw Error::bad_input(
        "split must come before shuffle, take, skip and shard: it selects from the samples as stored");
  plan.order.push_back(step);
}

void note_seed(StepPlan& plan, const Step& step) {
  if (plan.seed.value_or(0) != 0) return;
  if (const auto* shuffle = std::get_if<Shuffle>(&step)) plan.seed = shuffle->seed;
  if (const auto* chunks = std::get_if<ShuffleChunks>(&step)) plan.seed = chunks->seed;
  if (const auto* buffer = std::get_if<ShuffleBuffer>(&step)) plan.seed = buffer->seed;
}

// Steps on a stream; `batched`: what it gives are batches.
void add_rest(StepPlan& plan, const Step& step, bool& batched) {
  if (is<Select, Shuffle, ShuffleChunks, SplitOff>(step))
    throw Error::bad_input(
        "{} needs samples by index, but comes after a step that makes a stream: use shuffle_buffer there, or move it "
        "to the front",
        name(step));
  if (is<MapBatch, Unbatch, ToDevice>(step) && !batched)
    throw Error::bad_input("{} needs batches: put batch before it", name(step));
  if (const auto* shard = std::get_if<Shard>(&step); shard && !plan.rest.empty() && is<BatchUp>(plan.rest.back())) {
    std::get<BatchUp>(plan.rest.back()).part = *shard;
    return;
  }
  if (is<Cache>(step))
    throw Error::bad_input("cache needs samples by index, but comes after a step that makes a stream");
  if (batched && is<BatchUp, Filter, FlatMap, Interleave, ShuffleBuffer, Map, Decode, Take, Skip, Shard>(step))
    throw Error::bad_input("{} comes after batch: put it before batch, or unbatch first", name(step));
  if (is<BatchUp>(step)) batched = true;
  if (is<Unbatch>(step)) batched = false;
  plan.rest.push_back(step);
}

}  // namespace

StepPlan make_plan(const std::vector<Step>& steps, bool by_index) {
  StepPlan plan;
  bool barrier = !by_index, batched = false;
  std::optional<std::uint64_t> draw_seed;
  for (const Step& step : steps) {
    check_counts(step);
    note_seed(plan, step);
    if (const auto* repeat = std::get_if<Repeat>(&step)) {
      if (repeat->epochs < 0)
        throw Error::bad_input("repeat({}): give the number of epochs, or 0 to repeat forever", repeat->epochs);
      plan.epochs = repeat->epochs > 0 ? repeat->epochs : StepPlan::kForEver;
    } else if (const auto* random = std::get_if<RandomSeed>(&step)) {
      draw_seed = random->seed;
    } else if (const auto* prefetch = std::get_if<Prefetch>(&step)) {
      plan.ahead = prefetch->batches;
    } else if (!barrier && on_order(step)) {
      add_order(plan, step);
    } else if (!barrier && is<Map, Decode, Cache>(step)) {
      plan.each.push_back(step);
    } else if (const auto* batch = std::get_if<BatchUp>(&step); batch && !barrier) {
      if (plan.batch) throw Error::bad_input("batch occurs twice: unbatch before the second one");
      plan.batch = *batch;
    } else {
      if (!barrier) batched = plan.batch.has_value();
      barrier = true;
      add_rest(plan, step, batched);
    }
  }
  plan.draw_seed = draw_seed.value_or(plan.seed.value_or(0));
  return plan;
}

std::string_view name(const Step& step) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"select", "random_seed", "shuffle",  "shuffle_chunks", "shuffle_buffer", "shard",
       "take",   "skip",        "repeat",   "split",          "batch",          "map",
       "map",    "map_batch",   "filter",   "flat_map",       "interleave",     "unbatch",
       "cache",  "prefetch",    "to_device"});
  static_assert(kNames.size() == std::variant_size_v<Step>);
  return kNames[step.index()];
}

}  // namespace ronde::data
