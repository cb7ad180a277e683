#pragma once

// What a trace tells besides the times of span_names.h, by the names that recorders and readers share: categories of
// spans, the clock of a core, and metadata. They stay as well: traces of earlier versions are read too.
namespace ronde::trace {

namespace category_names {
// Of what a device does.
inline constexpr char kKernel[] = "kernel";
inline constexpr char kCollective[] = "collective";
inline constexpr char kCopy[] = "copy";
// Of what a network does on the training thread.
inline constexpr char kModule[] = "module";
inline constexpr char kOperator[] = "operator";
}  // namespace category_names

namespace counter_names {
inline constexpr char kCoreClock[] = "core clock";  // GHz, of the core that a training thread is on
}  // namespace counter_names

// JSON, unless it says otherwise.
namespace metadata_names {
inline constexpr char kJob[] = "job";  // of rank 0, as is the next one
inline constexpr char kLayers[] = "layers";
inline constexpr char kRankFacts[] = "rank facts";
inline constexpr char kInputStages[] = "input stages";
inline constexpr char kMachineRates[] = "machine rates";  // of the first rank of a node
inline constexpr char kGpuSteps[] = "gpu steps";          // a number: of how many steps there are rows of the device
}  // namespace metadata_names

}  // namespace ronde::trace
